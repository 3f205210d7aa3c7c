#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sim/costs/priced_plan.hpp"

namespace penstock {

/// The memory of ranks with a capacity. A task takes when it starts what it allocates until it has
/// ended, so what it allocates at its end always fits.
class MemoryLedger {
 public:
  /// Buffers for the whole run are held from the beginning. The plan must outlive it.
  MemoryLedger(const PricedPlan& priced, std::uint64_t capacity);

  void clear() { held_ = later_ = first_; }
  void start(TaskId task);
  void end(TaskId task);

  /// Whether tasks that start together leave all ranks within their capacity. Tasks that take
  /// nothing always fit.
  bool fits(const std::vector<TaskId>& tasks) const;
  /// Whether `rank` has room for a task and these others, once all that has started has ended. A
  /// task that takes nothing always fits.
  bool fits_later(TaskId task, std::uint32_t rank, const std::vector<TaskId>& others) const;
  /// Whether a rank holds too much before anything has started.
  bool is_too_full() const;
  /// The ranks whose memory a task changes.
  std::vector<std::uint32_t> ranks_of(TaskId task) const;

 private:
  struct Change {
    std::int64_t at_start = 0;
    std::int64_t at_end = 0;
  };
  void reserve_for_ends();
  std::int64_t taken(TaskId task, std::uint32_t rank) const;

  const Plan& plan_;
  std::int64_t capacity_;
  std::vector<std::map<std::uint32_t, Change>> changes_;  // by work class, of each rank
  std::vector<std::int64_t> first_;                       // by rank
  std::vector<std::int64_t> held_;
  std::vector<std::int64_t> later_;  // of them, once all that has started has ended
};

}  // namespace penstock
