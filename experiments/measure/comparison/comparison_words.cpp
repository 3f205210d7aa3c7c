#include "experiments/measure/comparison/comparison_words.hpp"

#include <fmt/format.h>

#include "experiments/input/files/table.hpp"

namespace penstock {
namespace {

/// "after 1F0 instead of 1B0"
std::string order_reason(const ComparisonWords& words, const TaskPair& by) {
  const auto op = [](const Plan& plan, TaskId task) {
    return task == no_task ? "nothing" : task_text(plan, task);
  };
  return fmt::format("after {} instead of {}", op(words.plan_b(), by.b), op(words.plan_a(), by.a));
}

}  // namespace

std::string ComparisonWords::time(Time time) const { return short_time_text(time, unit); }

std::string ComparisonWords::change(Time time) const {
  return (time > Time{} ? "+" : "") + short_time_text(time, unit);
}

std::string ComparisonWords::where(const OpDifference& op) const {
  return place_text(plan_a(), plan_a().class_of(op.task.a).resource);
}

std::string ComparisonWords::reason(const OpDifference& op) const {
  const bool later = op.by.b != no_task;
  const auto by = [&] {
    return later ? task_text(plan_b(), op.by.b) : task_text(plan_a(), op.by.a);
  };
  const char* const when = later ? "later" : "earlier";
  switch (op.reason) {
    case Reason::none:
      return "";
    case Reason::duration:
      return "its own duration";
    case Reason::wait:
      return "its own wait";
    case Reason::input:
      return fmt::format("its input {} came {}", by(), when);
    case Reason::before:
      return fmt::format("{}, the op before it, ended {}", by(), when);
    case Reason::order:
      return order_reason(*this, op.by);
    case Reason::place:
      break;
  }
  return fmt::format("on {} in B", place_text(plan_b(), plan_b().class_of(op.task.b).resource));
}

std::string signed_percent(double share) {
  return share == 0 ? "0 %" : fmt::format("{:+.3g} %", share * 100);
}

}  // namespace penstock
