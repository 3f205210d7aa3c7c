#include "tests/support/replays.hpp"

#include "sim/engines/events.hpp"
#include "tests/support/system.hpp"
#include "validate/job/run_errors.hpp"

namespace penstock::testing {

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
