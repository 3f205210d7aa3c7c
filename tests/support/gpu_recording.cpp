#include "tests/support/gpu_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <variant>

#include "sim/base/error.hpp"
#include "sim/engines/events.hpp"

namespace penstock::testing {
namespace {

[[noreturn]] void refuse_recording(std::size_t line, const std::string& what) {
  throw InputError("", fmt::format("line {}: {}", line, what));
}

Time moment(std::istringstream& words, std::size_t line) {
  std::int64_t ns = 0;
  if (!(words >> ns) || ns < 0) refuse_recording(line, "expected begin and end in nanoseconds");
  return from_ns(ns);
}

/// A line between runs: what is recorded.
void read_word(const std::string& what, std::istringstream& words, std::size_t line,
               GpuRecording& recording) {
  std::string* const value = what == "program"    ? &recording.program
                             : what == "ordering" ? &recording.ordering
                             : what == "links"    ? &recording.links
                             : what == "bodies"   ? &recording.bodies
                                                  : nullptr;
  if (value == nullptr || !(words >> *value)) {
    refuse_recording(line, "expected program, ordering, links, bodies or run");
  }
}

/// By task: when the next one on its link begins; its own end where there is none.
std::vector<Time> next_begins(const Recording& recording) {
  std::vector<Time> next = recording.timeline.end;
  const ResourceOrders orders = resource_orders(recording.plan);
  for (std::size_t at = 0; at + 1 < orders.tasks.size(); ++at) {
    const TaskId task = orders.tasks[at];
    const TaskId follower = orders.tasks[at + 1];
    const bool same =
        recording.plan.class_of(task).resource == recording.plan.class_of(follower).resource;
    if (same) next[task] = recording.timeline.begin[follower];
  }
  return next;
}

/// The measured durations of a recording, as costs of its plan. The time that a transfer occupies
/// its link ends at the latest when the next one on it begins; the rest is latency.
PricedPlan recorded_costs(const Recording& recording) {
  const auto& [plan, timeline, title] = recording;
  PricedPlan priced{.plan = plan};
  Costs& costs = priced.costs;
  costs.duration.resize(plan.classes.size());
  costs.latency.resize(plan.classes.size());
  costs.bytes.resize(plan.buffers.size());
  const std::vector<Time> next = next_begins(recording);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const Time whole = timeline.end[task] - timeline.begin[task];
    const bool moves = plan.is_link(plan.class_of(task).resource);
    const Time held = moves ? std::clamp(next[task] - timeline.begin[task], Time{}, whole) : whole;
    const bool follows = plan.class_of(task).follows_partner;
    costs.task_duration.push_back(follows ? Time{} : held);
    costs.task_latency.push_back(moves ? whole - held : Time{});
  }
  return priced;
}

}  // namespace

GpuRecording read_gpu_recording(std::string_view text, const Job& job) {
  const Plan& plan = job.priced.plan;
  std::istringstream lines{std::string(text)};
  std::string line;
  if (!std::getline(lines, line) || line != "penstock gpu recording 1") {
    refuse_recording(1, "expected \"penstock gpu recording 1\"");
  }
  GpuRecording recording;
  for (std::size_t number = 2; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "run") {
      recording.runs.emplace_back();
    } else if (recording.runs.empty()) {
      read_word(what, words, number, recording);
    } else {
      std::istringstream again(line);
      Timeline& run = recording.runs.back();
      run.begin.push_back(moment(again, number));
      run.end.push_back(moment(again, number));
    }
  }
  for (Timeline& run : recording.runs) {
    if (run.begin.size() != plan.tasks()) {
      refuse_recording(
          1, fmt::format("a run has {} tasks, the plan {}", run.begin.size(), plan.tasks()));
    }
    find_last_inputs(plan, run);
  }
  return recording;
}

double replayed_structure_error(const Recording& recording) {
  const PricedPlan priced = recorded_costs(recording);
  const RunOutcome outcome = simulate(priced);
  const auto* const timeline = std::get_if<Timeline>(&outcome);
  if (timeline == nullptr) throw UsageError("the recorded plan does not run to its end");
  const double measured = to_us(makespan(recording.plan, recording.timeline));
  if (measured <= 0) return 0;
  return std::abs(to_us(makespan(recording.plan, *timeline)) / measured - 1);
}

}  // namespace penstock::testing
