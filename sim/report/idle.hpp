#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Idle time of a rank by cause; the causes add up to it exactly.
struct IdleCauses {
  Time warmup{};      // before its first action
  Time drain{};       // after its last
  Time dependency{};  // the producer of the last input had not finished
  Time contention{};  // the transfer of that input was queued
  Time transfer{};    // the transfer was in flight
  Time memory{};      // waiting only for memory
  Time launch{};      // ready, but not started yet

  Time total() const {
    return warmup + drain + dependency + contention + transfer + memory + launch;
  }
  IdleCauses& operator+=(const IdleCauses& other);
};

/// A stretch in which a rank was idle.
struct IdleGap {
  Rank rank;
  Time begin;
  Time end;
  TaskId next = no_task;      // the action after it; none for the drain
  TaskId input = no_task;     // the last input of that action to arrive
  TaskId producer = no_task;  // the action that produced that input
  IdleCauses causes{};
};

/// Finds the gaps of ranks during a pass over their actions in plan order. Gaps of one rank come in
/// time order.
class GapFinder {
 public:
  GapFinder(const Plan& plan, const Timeline& timeline)
      : plan_(plan), timeline_(timeline), busy_until_(plan.ranks, unstarted) {}

  /// Calls `visit(gap)` with the gap before the next action of a rank, if any.
  template <class Visitor>
  void before(TaskId action, std::uint32_t rank, Visitor&& visit) {
    Time& until = busy_until_[rank];
    const Time begin = timeline_.begin[action];
    if (begin > until && (until != unstarted || begin > Time{})) {
      explain(action, Rank{rank}, until);
      visit(std::as_const(gap_));
    }
    until = std::max(until, timeline_.end[action]);
  }
  /// Calls `visit(gap)` with the remaining time after each rank's last action.
  template <class Visitor>
  void after_all(Time end, Visitor&& visit) const {
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
      const Time from = std::max(busy_until_[rank], Time{});
      if (from == end) continue;
      visit(
          IdleGap{.rank = Rank{rank}, .begin = from, .end = end, .causes = {.drain = end - from}});
    }
  }

 private:
  static constexpr Time unstarted{-1};
  void explain(TaskId next, Rank rank, Time from);
  void split();

  const Plan& plan_;
  const Timeline& timeline_;
  std::vector<Time> busy_until_;  // by rank
  IdleGap gap_{};                 // the current one
  std::vector<TaskId> way_;       // the transfers of its input, last first
};

/// All gaps of all ranks, by rank, then time.
std::vector<IdleGap> idle_gaps(const Plan& plan, const Timeline& timeline);

/// Idle time by cause, by rank: the sum over its gaps.
std::vector<IdleCauses> idle_causes(const Plan& plan, const Timeline& timeline);

}  // namespace penstock
