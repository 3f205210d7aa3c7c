#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// What ranks with a capacity have taken or promised. A task takes all it will ever take when it
/// starts, so that what is taken at its end, too, never goes over the capacity.
class MemoryRoom {
 public:
  MemoryRoom(const Plan& plan, const Costs& costs, std::uint64_t capacity);

  /// Whether these tasks, started together, leave every rank within its capacity. With `reserved`,
  /// so many bytes more on `rank`.
  bool fits(std::span<const TaskId> tasks, Rank rank = {}, std::uint64_t reserved = 0) const;
  void start(TaskId task) { add(task, &Change::at_start); }
  void end(TaskId task) { add(task, &Change::at_end); }

  /// What a task needs on a rank beyond what it gives back there when it starts.
  std::uint64_t need(TaskId task, Rank rank) const;
  std::uint64_t held(Rank rank) const { return held_[index(rank)]; }
  std::uint64_t capacity() const { return capacity_; }
  /// The ranks whose memory a task changes.
  template <class Visitor>
  void for_each_rank(TaskId task, Visitor&& visit) const {
    for (const Change& change : changes_[plan_.work[task]]) visit(change.rank);
  }

 private:
  /// What a class does to one rank, as unsigned numbers that wrap where it gives back.
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
