#include "validate/comparison/time_use.hpp"

#include <algorithm>

#include "validate/comparison/clock_arithmetic.hpp"

namespace penstock {
namespace {

/// Whether a timeline records which inputs came last; a recorder may not know.
bool knows_causes(const Plan& plan, const Timeline& timeline) {
  const auto known = [](TaskId last) { return last != no_task; };
  const auto& last = timeline.last_input;
  if (std::any_of(last.begin(), last.end(), known)) return true;
  return std::all_of(plan.input.begin(), plan.input.end(),
                     [](TaskId input) { return input == no_task; });
}

void add_transfer(const Timeline& timeline, const Readiness& readiness, TaskId task,
                  LinkUse& link) {
  ++link.transfers;
  add_within_clock(link.waiting, timeline.begin[task] - readiness.at[task]);
  add_within_clock(link.moving, timeline.end[task] - timeline.begin[task]);
  if (!timeline.slowed.empty()) add_within_clock(link.slowed, timeline.slowed[task]);
}

}  // namespace

TimeUse time_use(const Plan& plan, const Timeline& timeline, const Readiness& readiness) {
  TimeUse use;
  use.makespan = makespan(plan, timeline);
  use.causes_known = knows_causes(plan, timeline);
  use.ranks.resize(plan.ranks);
  use.links.resize(plan.links.size());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = plan.class_of(task).resource;
    if (plan.is_link(resource)) {
      add_transfer(timeline, readiness, task, use.links[resource - plan.ranks]);
    }
  }
  const std::vector<IdleCauses> causes = idle_causes(plan, timeline);
  for (std::size_t r = 0; r < use.ranks.size(); ++r) {
    use.ranks[r].idle_by_cause = causes[r];
    use.ranks[r].idle = causes[r].total();
    use.ranks[r].busy = use.makespan - use.ranks[r].idle;
  }
  return use;
}

}  // namespace penstock
