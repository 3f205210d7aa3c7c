#include "gui/models/change/order_move.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/order/order_fault.hpp"

namespace penstock {
namespace {

MoveRefused refusal(const std::string& text) { return {text}; }

bool joined(const Action& first, const Action& second) {
  return first.with_next || second.with_next;
}

}  // namespace

std::variant<ViewedRunPtr, MoveRefused> with_moved_op(const ViewedRun& run, TaskId task,
                                                      bool later) {
  if (run.layout == nullptr) return refusal("a recorded run cannot be changed; open its scenario");
  const WorkClass& work = run.plan.class_of(task);
  if (run.plan.is_link(work.resource)) {
    return refusal("transfers follow the actions that send them; move an action");
  }
  Layout layout = *run.layout;
  if (layout.policy != nullptr) return refusal("a policy decides this order while it runs");
  auto& order = layout.schedule.on(Rank{work.resource});
  const auto here = std::find_if(order.begin(), order.end(), [&](const Action& action) {
    return action.pass == work.pass && action.stage == work.stage &&
           action.microbatch == run.plan.microbatch[task];
  });
  if (here == order.end()) return refusal("this op is no action of the order");
  if (later ? here + 1 == order.end() : here == order.begin()) {
    return refusal(later ? "it is the last action of its rank"
                         : "it is the first action of its rank");
  }
  const auto other = later ? here + 1 : here - 1;
  if (joined(*here, *other)) return refusal("it is part of an overlap cell");
  std::iter_swap(here, other);
  if (const auto fault = find_order_fault(layout.schedule, layout.placement)) {
    return refusal(fault->text);
  }
  layout.rule = nullptr;
  if (!layout.name.ends_with(" (changed)")) layout.name += " (changed)";
  try {
    return viewed(std::move(layout), run.scenario);
  } catch (const InputError& error) {
    return refusal(error.what());
  }
}

}  // namespace penstock
