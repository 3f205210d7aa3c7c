#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// Memory allocated or reserved on ranks with a capacity. A task reserves everything at its start,
/// so what it allocates at its end never exceeds the capacity.
class MemoryRoom {
 public:
  MemoryRoom(const Plan& plan, const Costs& costs, std::uint64_t capacity);

  /// Whether these tasks, started together, leave every rank within its capacity, with `reserved`
  /// more bytes on `rank`.
  bool fits(std::span<const TaskId> tasks, Rank rank = {}, std::uint64_t reserved = 0) const;
  void start(TaskId task) { add(task, &Change::at_start); }
  void end(TaskId task) { add(task, &Change::at_end); }

  /// What a task allocates on a rank beyond what it frees there at its start.
  std::uint64_t need(TaskId task, Rank rank) const;
  std::uint64_t held(Rank rank) const { return held_[index(rank)]; }
  std::uint64_t capacity() const { return capacity_; }
  /// The ranks whose memory a task changes.
  template <class Visitor>
  void for_each_rank(TaskId task, Visitor&& visit) const {
    for (const Change& change : changes_[plan_.work[task]]) visit(change.rank);
  }

 private:
  /// The change of one rank's memory by a class, in wrapping unsigned numbers.
  struct Change {
    Rank rank;
    std::uint64_t at_start = 0;
    std::uint64_t at_end = 0;
  };
  void add(TaskId task, std::uint64_t Change::*when);
  static std::vector<Change> changes_of(const Plan& plan, const Costs& costs,
                                        const WorkClass& work);

  const Plan& plan_;
  std::uint64_t capacity_;
  std::vector<std::vector<Change>> changes_;  // by work class
  std::vector<std::uint64_t> held_;           // by rank
};

}  // namespace penstock
