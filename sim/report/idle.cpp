#include "sim/report/idle.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// The input that a transfer waited for last.
TaskId awaited_by(const Plan& plan, const Timeline& timeline, TaskId transfer) {
  const TaskId last = timeline.last_input[transfer];
  if (last != no_task) return last;
  TaskId first = no_task;
  plan.for_each_input(transfer, [&](TaskId input) { first = std::min(first, input); });
  return first;
}

/// The action that made an input; into `way` go the transfers that brought it from there, last
/// first.
TaskId maker_of(const Plan& plan, const Timeline& timeline, TaskId input,
                std::vector<TaskId>& way) {
  way.clear();
  while (is_transfer(plan.class_of(input).pass)) {
    way.push_back(input);
    input = awaited_by(plan, timeline, input);
  }
  return input;
}

/// Splits a gap before an action along the input that arrived last. `way` is scratch space.
void explain_gap(const Plan& plan, const Timeline& timeline, IdleGap& gap,
                 std::vector<TaskId>& way) {
  Time at = gap.begin;
  const auto until = [&](Time moment) {
    const Time reached = std::clamp(moment, at, gap.end);
    const Time length = reached - at;
    at = reached;
    return length;
  };
  if (gap.input != no_task) {
    gap.producer = maker_of(plan, timeline, gap.input, way);
    gap.causes.dependency = until(timeline.end[gap.producer]);
    for (auto transfer = way.rbegin(); transfer != way.rend(); ++transfer) {
      const Time begin = timeline.begin[*transfer];
      // A rank that waits for what it sends itself goes on when that has left.
      const bool sends = plan.link(plan.class_of(*transfer).resource).from == gap.rank;
      const Time there =
          sends ? std::min(timeline.end[*transfer], gap.end) : timeline.end[*transfer];
      gap.causes.contention += until(begin - time_in(timeline.memory_wait, *transfer));
      gap.causes.memory += until(begin);
      // What others slowed it down by comes last: without them it would have been there then.
      gap.causes.transfer += until(there - time_in(timeline.slowed, *transfer));
      gap.causes.contention += until(there);
    }
  }
  const Time for_memory = std::min(time_in(timeline.memory_wait, gap.next), gap.end - at);
  gap.causes.memory += until(at + for_memory);
  gap.causes.launch = until(gap.end);
}

/// Calls `visit` with every gap; those of one rank come in time order.
template <class Visitor>
void for_each_gap(const Plan& plan, const Timeline& timeline, Visitor visit) {
  constexpr Time unstarted{-1};
  std::vector<Time> busy_until(plan.ranks, unstarted);
  std::vector<TaskId> way;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t rank = plan.class_of(task).resource;
    if (plan.is_link(rank)) continue;
    Time& until = busy_until[rank];
    const Time begin = timeline.begin[task];
    if (until == unstarted) {
      const Time none{};
      if (begin > none) {
        visit({.rank = Rank{rank},
               .begin = none,
               .end = begin,
               .next = task,
               .causes = {.warmup = begin}});
      }
    } else if (begin > until) {
      IdleGap gap{.rank = Rank{rank},
                  .begin = until,
                  .end = begin,
                  .next = task,
                  .input = timeline.last_input[task]};
      explain_gap(plan, timeline, gap, way);
      visit(gap);
    }
    until = std::max(until, timeline.end[task]);
  }
  const Time end = makespan(plan, timeline);
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    const Time from = std::max(busy_until[rank], Time{});
    if (from == end) continue;
    visit({.rank = Rank{rank}, .begin = from, .end = end, .causes = {.drain = end - from}});
  }
}

}  // namespace

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
