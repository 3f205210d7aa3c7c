#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sim/costs/priced_plan.hpp"

namespace penstock {

/// The memory of ranks with a capacity. A task takes all that it allocates when it starts, so what
/// it allocates at its end always fits.
class MemoryLedger {
 public:
  /// Buffers for the whole run are held from the beginning. The plan must outlive it.
  MemoryLedger(const PricedPlan& priced, std::uint64_t capacity);

  void clear() { held_ = first_; }
  void start(TaskId task) { book(task, &Change::at_start); }
  void end(TaskId task) { book(task, &Change::at_end); }

  /// Whether tasks that start together leave all ranks within their capacity when `rank` keeps
  /// `reserved` bytes besides. Tasks that take nothing always fit.
  bool fits(const std::vector<TaskId>& tasks, std::uint32_t rank = 0,
            std::int64_t reserved = 0) const;
  /// What a task takes of a rank when it starts; at least 0.
  std::int64_t need(TaskId task, std::uint32_t rank) const;
  /// Whether a rank holds too much before anything has started.
  bool is_too_full() const;
  /// The ranks whose memory a task changes.
  std::vector<std::uint32_t> ranks_of(TaskId task) const;

 private:
  struct Change {
    std::int64_t at_start = 0;
    std::int64_t at_end = 0;
  };
  void book(TaskId task, std::int64_t Change::*when);

  const Plan& plan_;
  std::int64_t capacity_;
  std::vector<std::map<std::uint32_t, Change>> changes_;  // by work class, of each rank
  std::vector<std::int64_t> first_;                       // by rank
  std::vector<std::int64_t> held_;
};

}  // namespace penstock
