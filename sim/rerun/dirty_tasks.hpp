#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/plan/plan.hpp"

namespace penstock {

/// A set of tasks, taken in ascending order while higher ones are still added.
class DirtyTasks {
 public:
  explicit DirtyTasks(std::uint32_t tasks)
      : words_(tasks / 64 + 1), groups_(words_.size() / 64 + 1), at_(groups_.size()) {}

  void add(TaskId task) {
    const std::size_t word = task / 64;
    words_[word] |= std::uint64_t{1} << task % 64;
    groups_[word / 64] |= std::uint64_t{1} << word % 64;
    at_ = std::min(at_, word / 64);
  }

  /// Removes and returns the lowest; no_task when empty.
  TaskId take() {
    while (at_ < groups_.size() && groups_[at_] == 0) ++at_;
    if (at_ == groups_.size()) return no_task;
    const std::size_t word = at_ * 64 + lowest(groups_[at_]);
    const std::size_t task = word * 64 + lowest(words_[word]);
    words_[word] &= words_[word] - 1;
    if (words_[word] == 0) groups_[at_] &= groups_[at_] - 1;
    return static_cast<TaskId>(task);
  }

  void clear() {
    std::fill(words_.begin(), words_.end(), 0);
    std::fill(groups_.begin(), groups_.end(), 0);
  }

 private:
  static std::size_t lowest(std::uint64_t bits) {
    return static_cast<std::size_t>(std::countr_zero(bits));
  }

  std::vector<std::uint64_t> words_;   // one bit per task
  std::vector<std::uint64_t> groups_;  // one bit per word with any task
  std::size_t at_;                     // earlier groups are empty
};

}  // namespace penstock
