#include "tests/support/replays.hpp"

#include "sim/engines/events.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {

PricedPlan with_lengths(const Job& job, const Timeline& timeline) {
  PricedPlan priced = job.priced;
  const auto& [plan, costs, conditions] = priced;
  std::vector<Time> lengths, latencies;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const bool moves = plan.is_link(plan.class_of(task).resource);
    const bool follows = plan.class_of(task).follows_partner;
    const Time ran = timeline.end[task] - timeline.begin[task] - time_in(timeline.slowed, task);
    lengths.push_back(moves ? costs.duration_of(plan, task) : follows ? Time{} : ran);
    latencies.push_back(costs.latency_of(plan, task));
  }
  priced.costs.task_duration = lengths;
  priced.costs.task_latency = latencies;
  return priced;
}

std::size_t differences(const Timeline& one, const Timeline& other) {
  std::size_t count = 0;
  for (std::size_t task = 0; task < one.begin.size(); ++task) {
    if (one.begin[task] != other.begin[task]) ++count;
    if (one.end[task] != other.end[task]) ++count;
  }
  return count;
}

std::size_t differences(const Job& job, const Timeline& timeline) {
  return differences(timeline_of(simulate(with_lengths(job, timeline))), timeline);
}

bool takes_time(const PricedPlan& priced) {
  const Plan& plan = priced.plan;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const bool moves = plan.is_link(plan.class_of(task).resource);
    if (!moves && priced.costs.duration_of(plan, task) > Time{}) return true;
  }
  return false;
}

}  // namespace penstock::testing
