#include "validate/comparison/makespan_change.hpp"

#include <algorithm>

#include "validate/comparison/clock_arithmetic.hpp"

namespace penstock {
namespace {

TaskId last_to_end(const Timeline& timeline) {
  const auto last = std::max_element(timeline.end.begin(), timeline.end.end());
  return static_cast<TaskId>(last - timeline.end.begin());
}

/// The task of the first run for each of the second, or no_task.
std::vector<TaskId> partners(const RunView& b, const std::vector<TaskPair>& shared) {
  std::vector<TaskId> partner(b.plan.tasks(), no_task);
  for (const TaskPair& task : shared) partner[task.b] = task.a;
  return partner;
}

}  // namespace

MakespanChange makespan_change(const RunView& a, const RunView& b,
                               const std::vector<TaskPair>& shared) {
  MakespanChange change;
  if (shared.empty()) return change;
  const std::vector<TaskId> partner = partners(b, shared);
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
      add_within_clock(change.rest, until_b - end_b);
      add_within_clock(change.rest, end_a - until_a);
      until_a = a.timeline.begin[at.a];
      until_b = b.timeline.begin[at.b];
      ChangePart& part = parts[a.plan.work[at.a]];
      ++part.ops;
      add_within_clock(part.change, end_b - until_b);
      add_within_clock(part.change, until_a - end_a);
    }
    at.b = b.ready.by[at.b];
  }
  add_within_clock(change.rest, until_b - until_a);
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
