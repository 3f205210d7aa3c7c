#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/plan/plan.hpp"

namespace penstock {

/// By task: the action that made the tensor which a transfer passes on; no_task for all others.
std::vector<TaskId> makers_of_tensors(const Plan& plan);

/// The transfers that wait for each task, ascending.
class TransferReaders {
 public:
  explicit TransferReaders(const Plan& plan);

  std::span<const TaskId> of(TaskId task) const {
    const TaskId& reader = reader_[task];
    if (reader == no_task) return {};
    if ((reader & Plan::several) == 0) return {&reader, 1};
    const std::uint32_t* const list = &readers_[reader & ~Plan::several];
    return {list + 1, *list};
  }
  /// Those that wait for nothing, ascending.
  const std::vector<TaskId>& of_none() const { return of_none_; }

 private:
  std::vector<TaskId> reader_;          // by task, encoded as Plan::input
  std::vector<std::uint32_t> readers_;  // lists for tasks with more: their number, then the readers
  std::vector<TaskId> of_none_;
};

/// Ranks that wait for a transfer without being an end of its link: those that update a stage and
/// need the gradients of its copies on other ranks.
class FarReaders {
 public:
  explicit FarReaders(const Plan& plan);

  /// Calls `visit(rank)` for each far reader of a transfer, ascending.
  template <class Visitor>
  void for_each_of(TaskId transfer, Visitor&& visit) const {
    if (pairs_.empty()) return;
    for (auto pair = first_of(transfer); pair != pairs_.end() && pair->first == transfer; ++pair) {
      visit(pair->second);
    }
  }

 private:
  using Pair = std::pair<TaskId, std::uint32_t>;
  std::vector<Pair>::const_iterator first_of(TaskId transfer) const;

  std::vector<Pair> pairs_;  // transfers and ranks, sorted
};

}  // namespace penstock
