#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// Memory allocated or reserved on ranks with a capacity. A task reserves at its start what it
/// allocates at its end beyond what it then frees, so its end never exceeds the capacity.
class MemoryRoom {
 public:
  MemoryRoom(const Plan& plan, const Costs& costs, std::uint64_t capacity);

  /// Whether these tasks, started together, leave every rank within its capacity.
  bool fits(std::span<const TaskId> tasks) const;
  /// Whether a rank has room for a task and `more` bytes once all ends that has started.
  bool fits_later(TaskId task, Rank rank, std::int64_t more) const;
  void start(TaskId task);
  void end(TaskId task);

  /// What a task allocates on a rank at its start, less what it frees there.
  std::int64_t change_at_start(TaskId task, Rank rank) const;
  std::int64_t held(Rank rank) const { return held_[index(rank)]; }
  std::int64_t capacity() const { return capacity_; }
  /// The ranks whose memory a task changes.
  template <class Visitor>
  void for_each_rank(TaskId task, Visitor&& visit) const {
    for (const Change& change : changes_[plan_.work[task]]) visit(change.rank);
  }

 private:
  /// The change of one rank's memory by a class.
  struct Change {
    Rank rank;
    std::int64_t at_start = 0;
    std::int64_t at_end = 0;
  };
  static std::vector<Change> changes_of(const Plan& plan, const Costs& costs,
                                        const WorkClass& work);
  void reserve_for_end(const WorkClass& work, std::vector<Change>& changes) const;

  const Plan& plan_;
  std::int64_t capacity_;
  std::vector<std::vector<Change>> changes_;  // by work class
  std::vector<std::int64_t> held_;            // by rank
  std::vector<std::int64_t> ending_;          // by rank: changes to come at the ends of what runs
};

}  // namespace penstock
