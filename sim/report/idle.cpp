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

/// Calls `visit(gap)` with every gap. Returns the sums of their causes, by rank.
template <class Visitor>
std::vector<IdleCauses> for_each_gap(const Plan& plan, const Timeline& timeline, Visitor visit) {
  GapFinder finder(plan, timeline);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t rank = plan.class_of(task).resource;
    if (!plan.is_link(rank)) finder.before(task, rank, visit);
  }
  finder.after_all(makespan(plan, timeline), visit);
  return finder.causes();
}

}  // namespace

GapFinder::GapFinder(const Plan& plan, const Timeline& timeline)
    : plan_(plan), timeline_(timeline), busy_until_(plan.ranks, unstarted), causes_(plan.ranks) {
  for (const WorkClass& work : plan.classes) {
    const bool moves = is_transfer(work.pass);
    classes_.push_back({moves ? plan.link(work.resource).from : Rank{work.resource}, moves});
  }
}

void GapFinder::explain(TaskId next, Rank rank, Time from) {
  gap_.rank = rank;
  gap_.begin = std::max(from, Time{});
  gap_.end = timeline_.begin[next];
  gap_.next = next;
  gap_.input = gap_.producer = no_task;
  if (from != unstarted) gap_.input = timeline_.last_input[next];
  const IdleCauses causes = from == unstarted ? IdleCauses{.warmup = gap_.end} : split();
  gap_.causes = causes;
  causes_[index(rank)] += causes;
}

/// The action that made the input that arrived last, if any; into `way_` go the transfers that
/// brought it from there, last first. Weights may be gathered before a rank has done anything.
TaskId GapFinder::find_maker() {
  way_.clear();
  TaskId input = gap_.input;
  while (input != no_task && class_of(input).is_transfer) {
    way_.push_back(input);
    input = awaited_by(plan_, timeline_, input);
  }
  return input;
}

/// Splits a gap before an action along the input that arrived last.
IdleCauses GapFinder::split() {
  Time at = gap_.begin;
  const Time end = gap_.end;
  const auto until = [&](Time moment) {
    const Time reached = std::clamp(moment, at, end);
    const Time length = reached - at;
    at = reached;
    return length;
  };
  Time dependency{}, contention{}, on_the_way{}, memory{};
  if (gap_.input != no_task) {
    gap_.producer = find_maker();
    if (gap_.producer != no_task) dependency = until(timeline_.end[gap_.producer]);
    for (auto transfer = way_.rbegin(); transfer != way_.rend(); ++transfer) {
      const Time begin = timeline_.begin[*transfer];
      // A rank that waits for what it sends itself goes on when that has left.
      const bool sends = class_of(*transfer).rank == gap_.rank;
      const Time there = sends ? std::min(timeline_.end[*transfer], end) : timeline_.end[*transfer];
      contention += until(begin - time_in(timeline_.memory_wait, *transfer));
      memory += until(begin);
      // The slowdown by others comes last: without it the transfer would have arrived by then.
      on_the_way += until(there - time_in(timeline_.slowed, *transfer));
      contention += until(there);
    }
  }
  const Time for_memory = std::min(time_in(timeline_.memory_wait, gap_.next), end - at);
  memory += until(at + for_memory);
  return {.dependency = dependency,
          .contention = contention,
          .transfer = on_the_way,
          .memory = memory,
          .launch = until(end)};
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
  return for_each_gap(plan, timeline, [](const IdleGap&) {});
}

}  // namespace penstock
