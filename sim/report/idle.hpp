#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
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
  friend bool operator==(const IdleCauses&, const IdleCauses&) = default;
};

/// The causes of IdleCauses, in their order in tables.
enum class IdleCause : std::uint8_t {
  warmup,
  dependency,
  contention,
  transfer,
  memory,
  launch,
  drain,
};

/// A part of a gap that has one cause: from the end of the part before.
struct IdlePart {
  IdleCause cause;
  Time end;
  friend bool operator==(const IdlePart&, const IdlePart&) = default;
};

/// A stretch in which a rank was idle.
struct IdleGap {
  Rank rank;
  Time begin;
  Time end;
  TaskId next = no_task;      // the action after it; none for the drain
  TaskId input = no_task;     // the last input of that action to arrive
  TaskId producer = no_task;  // the action that produced that input, if any
  IdleCauses causes{};
  std::vector<IdlePart> parts{};  // as they happened; together the gap, and `causes` by cause
};

/// Finds the gaps of ranks while their actions are looked at one after the other, as the plan has
/// them, and adds up their causes. Those of one rank come in time order.
class GapFinder {
 public:
  GapFinder(const Plan& plan, const Timeline& timeline);

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
  void after_all(Time end, Visitor&& visit) {
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
      const Time from = std::max(busy_until_[rank], Time{});
      if (from == end) continue;
      gap_ = {.rank = Rank{rank},
              .begin = from,
              .end = end,
              .causes = {.drain = end - from},
              .parts = {{IdleCause::drain, end}}};
      causes_[rank].drain += gap_.causes.drain;
      visit(std::as_const(gap_));
    }
  }
  /// By rank: the sum over its gaps so far.
  const std::vector<IdleCauses>& causes() const { return causes_; }

 private:
  static constexpr Time unstarted{-1};
  /// What is asked of many tasks; the classes of the plan would fill the cache.
  struct OfClass {
    Rank rank;  // that runs or sends it
    bool is_transfer;
  };

  const OfClass& class_of(TaskId task) const { return classes_[plan_.work[task]]; }
  void explain(TaskId next, Rank rank, Time from);
  TaskId find_maker();
  void split();
  void add_until(Time moment, IdleCause cause);

  const Plan& plan_;
  const Timeline& timeline_;
  std::vector<OfClass> classes_;
  std::vector<Time> busy_until_;    // by rank
  std::vector<IdleCauses> causes_;  // by rank
  IdleGap gap_{};                   // the one that is looked at
  Time reached_{};                  // how far its parts go
  std::vector<TaskId> way_;         // of its input, last first
};

/// All gaps of all ranks, by rank, then time.
std::vector<IdleGap> idle_gaps(const Plan& plan, const Timeline& timeline);

/// Idle time by cause, by rank: the sum over its gaps.
std::vector<IdleCauses> idle_causes(const Plan& plan, const Timeline& timeline);

constexpr std::size_t idle_cause_count = 7;

constexpr const char* name(IdleCause cause) {
  constexpr std::array<const char*, idle_cause_count> names{
      "warm-up", "dependency", "contention", "transfer", "memory", "launch", "drain"};
  return names[static_cast<std::size_t>(cause)];
}

/// The times of the causes, in their order.
constexpr std::array<Time IdleCauses::*, idle_cause_count> idle_times{
    &IdleCauses::warmup, &IdleCauses::dependency, &IdleCauses::contention, &IdleCauses::transfer,
    &IdleCauses::memory, &IdleCauses::launch,     &IdleCauses::drain};

constexpr Time& time_of(IdleCauses& causes, IdleCause cause) {
  return causes.*idle_times[static_cast<std::size_t>(cause)];
}
constexpr Time time_of(const IdleCauses& causes, IdleCause cause) {
  return causes.*idle_times[static_cast<std::size_t>(cause)];
}

/// Calls `visit(cause, begin, end)` for the parts of a gap, one after the other.
template <class Visitor>
void for_each_cause(const IdleGap& gap, Visitor&& visit) {
  Time at = gap.begin;
  for (const IdlePart& part : gap.parts) {
    visit(part.cause, at, part.end);
    at = part.end;
  }
}

}  // namespace penstock
