#include "validate/job/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "sim/base/error.hpp"
#include "sim/engines/events.hpp"

namespace penstock {
namespace {

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

}  // namespace

PricedPlan recorded_costs(const Recording& recording) {
  const auto& [plan, timeline, title] = recording;
  PricedPlan priced;
  priced.plan = plan;
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

double replayed_structure_error(const Recording& recording) {
  const PricedPlan priced = recorded_costs(recording);
  const RunOutcome outcome = simulate(priced);
  const auto* const timeline = std::get_if<Timeline>(&outcome);
  if (timeline == nullptr) throw UsageError("the recorded plan does not run to its end");
  const double measured = to_us(makespan(recording.plan, recording.timeline));
  if (measured <= 0) return 0;
  return std::abs(to_us(makespan(recording.plan, *timeline)) / measured - 1);
}

}  // namespace penstock
