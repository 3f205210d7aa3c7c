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
  gap_.causes = {};
  gap_.parts.clear();
  reached_ = gap_.begin;
  if (from == unstarted) {
    add_until(gap_.end, IdleCause::warmup);
  } else {
    gap_.input = timeline_.last_input[next];
    split();
  }
  causes_[index(rank)] += gap_.causes;
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

/// From where the parts of the gap reach to a moment, within the gap.
void GapFinder::add_until(Time moment, IdleCause cause) {
  const Time end = std::min(moment, gap_.end);
  if (end <= reached_) return;
  time_of(gap_.causes, cause) += end - reached_;
  reached_ = end;
  if (gap_.parts.empty() || gap_.parts.back().cause != cause) gap_.parts.push_back({cause, end});
  gap_.parts.back().end = end;
}

/// Splits a gap before an action along the input that arrived last.
void GapFinder::split() {
  if (gap_.input != no_task) {
    gap_.producer = find_maker();
    if (gap_.producer != no_task) add_until(timeline_.end[gap_.producer], IdleCause::dependency);
    for (auto transfer = way_.rbegin(); transfer != way_.rend(); ++transfer) {
      const Time begin = timeline_.begin[*transfer];
      // A rank that waits for what it sends itself goes on when that has left.
      const bool sends = class_of(*transfer).rank == gap_.rank;
      const Time there =
          sends ? std::min(timeline_.end[*transfer], gap_.end) : timeline_.end[*transfer];
      add_until(begin - time_in(timeline_.memory_wait, *transfer), IdleCause::contention);
      add_until(begin, IdleCause::memory);
      // The slowdown by others comes last: without it the transfer would have arrived by then.
      add_until(there - time_in(timeline_.slowed, *transfer), IdleCause::transfer);
      add_until(there, IdleCause::contention);
    }
  }
  add_until(reached_ + time_in(timeline_.memory_wait, gap_.next), IdleCause::memory);
  add_until(gap_.end, IdleCause::launch);
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
  std::ranges::stable_sort(gaps, {}, &IdleGap::rank);
  return gaps;
}

std::vector<IdleCauses> idle_causes(const Plan& plan, const Timeline& timeline) {
  return for_each_gap(plan, timeline, [](const IdleGap&) {});
}

}  // namespace penstock
