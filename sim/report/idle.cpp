#include "sim/report/idle.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// The input of a transfer that arrived last.
TaskId awaited_by(const Plan& plan, const Timeline& timeline, TaskId transfer) {
  const TaskId last = timeline.last_input[transfer];
  if (last != no_task) return last;
  TaskId first = no_task;
  plan.for_each_input(transfer, [&](TaskId input) { first = std::min(first, input); });
  return first;
}

/// The action that produced an input; adds the transfers on the way to `way`, last first.
TaskId maker_of(const Plan& plan, const Timeline& timeline, TaskId input,
                std::vector<TaskId>& way) {
  way.clear();
  while (is_transfer(plan.class_of(input).pass)) {
    way.push_back(input);
    input = awaited_by(plan, timeline, input);
  }
  return input;
}

template <class Visitor>
void for_each_gap(const Plan& plan, const Timeline& timeline, Visitor visit) {
  GapFinder finder(plan, timeline);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t rank = plan.class_of(task).resource;
    if (!plan.is_link(rank)) finder.before(task, rank, visit);
  }
  finder.after_all(makespan(plan, timeline), visit);
}

}  // namespace

void GapFinder::explain(TaskId next, Rank rank, Time from) {
  gap_.rank = rank;
  gap_.begin = std::max(from, Time{});
  gap_.end = timeline_.begin[next];
  gap_.next = next;
  gap_.input = gap_.producer = no_task;
  if (from == unstarted) {
    gap_.causes = {.warmup = gap_.end};
  } else {
    gap_.input = timeline_.last_input[next];
    split();
  }
}

/// Splits a gap before an action along the input that arrived last.
void GapFinder::split() {
  Time at = gap_.begin;
  const auto until = [&](Time moment) {
    const Time reached = std::clamp(moment, at, gap_.end);
    const Time length = reached - at;
    at = reached;
    return length;
  };
  Time dependency{}, contention{}, on_the_way{}, memory{};
  if (gap_.input != no_task) {
    gap_.producer = maker_of(plan_, timeline_, gap_.input, way_);
    dependency = until(timeline_.end[gap_.producer]);
    for (auto transfer = way_.rbegin(); transfer != way_.rend(); ++transfer) {
      const Time begin = timeline_.begin[*transfer];
      // With blocking sends a rank continues when its own send has left.
      const bool sends = plan_.link(plan_.class_of(*transfer).resource).from == gap_.rank;
      const Time there =
          sends ? std::min(timeline_.end[*transfer], gap_.end) : timeline_.end[*transfer];
      contention += until(begin - time_in(timeline_.memory_wait, *transfer));
      memory += until(begin);
      // The slowdown by others comes last: without it the transfer would have arrived by then.
      on_the_way += until(there - time_in(timeline_.slowed, *transfer));
      contention += until(there);
    }
  }
  const Time for_memory = std::min(time_in(timeline_.memory_wait, gap_.next), gap_.end - at);
  memory += until(at + for_memory);
  gap_.causes = {.dependency = dependency,
                 .contention = contention,
                 .transfer = on_the_way,
                 .memory = memory,
                 .launch = until(gap_.end)};
}

IdleCauses& IdleCauses::operator+=(const IdleCauses& other) {
  warmup += other.warmup;
  drain += other.drain;
  dependency += other.dependency;
  contention += other.contention;
  transfer += other.transfer;
  memory += other.memory;
  launch += other.launch;
  return *this;
}

std::vector<IdleGap> idle_gaps(const Plan& plan, const Timeline& timeline) {
  std::vector<IdleGap> gaps;
  for_each_gap(plan, timeline, [&](const IdleGap& gap) { gaps.push_back(gap); });
  std::stable_sort(gaps.begin(), gaps.end(),
                   [](const IdleGap& a, const IdleGap& b) { return a.rank < b.rank; });
  return gaps;
}

std::vector<IdleCauses> idle_causes(const Plan& plan, const Timeline& timeline) {
  std::vector<IdleCauses> causes(plan.ranks);
  for_each_gap(plan, timeline, [&](const IdleGap& gap) { causes[index(gap.rank)] += gap.causes; });
  return causes;
}

}  // namespace penstock
