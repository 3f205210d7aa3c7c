#include "validate/comparison/time_use.hpp"

#include <algorithm>

#include "validate/comparison/readiness.hpp"

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
  link.waiting += timeline.begin[task] - readiness.at[task];
  link.moving += timeline.end[task] - timeline.begin[task];
  if (!timeline.slowed.empty()) link.slowed += timeline.slowed[task];
}

TaskId last_to_end(const Timeline& timeline) {
  const auto last = std::max_element(timeline.end.begin(), timeline.end.end());
  return static_cast<TaskId>(last - timeline.end.begin());
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

MakespanChange makespan_change(const RunView& a, const RunView& b,
                               const std::vector<TaskPair>& shared) {
  MakespanChange change;
  if (shared.empty()) return change;
  std::vector<TaskId> partner(b.plan.tasks(), no_task);  // in the first run, of each of the second
  for (const TaskPair& task : shared) partner[task.b] = task.a;
  std::vector<ChangePart> parts(a.plan.classes.size());
  // The points that the walk back has reached in either run.
  TaskPair at{last_to_end(a.timeline), last_to_end(b.timeline)};
  Time until_a = a.timeline.end[at.a];
  Time until_b = b.timeline.end[at.b];
  // The times of a file may form a cycle.
  for (std::uint32_t step = 0; step < b.plan.tasks() && at.b != no_task; ++step) {
    at.a = partner[at.b];
    if (at.a != no_task) {
      const Time end_a = a.timeline.end[at.a], end_b = b.timeline.end[at.b];
      change.rest += until_b - end_b;
      change.rest += end_a - until_a;
      until_a = a.timeline.begin[at.a];
      until_b = b.timeline.begin[at.b];
      ChangePart& part = parts[a.plan.work[at.a]];
      ++part.ops;
      part.change += end_b - until_b;
      part.change += until_a - end_a;
    }
    at.b = b.ready.by[at.b];
  }
  change.rest += until_b - until_a;
  for (std::uint32_t work = 0; work < parts.size(); ++work) {
    parts[work].work = work;
    if (parts[work].change != Time{}) change.parts.push_back(parts[work]);
  }
  std::stable_sort(change.parts.begin(), change.parts.end(),
                   [](const ChangePart& one, const ChangePart& other) {
                     return magnitude(one.change) > magnitude(other.change);
                   });
  return change;
}

}  // namespace penstock
