#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/plan/plan.hpp"

namespace penstock {

/// New numbers for the tasks of one stretch of a plan; all others keep theirs.
class Renumbering {
 public:
  /// `tasks[i]` becomes `first + i`: the numbers from `first` on, in another order.
  Renumbering(TaskId first, std::vector<TaskId> tasks);

  TaskId of(TaskId task) const { return holds(task) ? now_[task - first_] : task; }
  bool holds(TaskId task) const { return task - first_ < now_.size(); }
  /// The tasks by their old numbers, in the order of the new ones.
  const std::vector<TaskId>& tasks() const { return tasks_; }

  /// Moves the entries of the tasks in an array that has one a task; an empty one stays so.
  template <class Entry>
  void move(std::vector<Entry>& entries) const {
    if (entries.empty()) return;
    std::vector<Entry> moved;
    moved.reserve(tasks_.size());
    for (const TaskId task : tasks_) moved.push_back(entries[task]);
    std::copy(moved.begin(), moved.end(), entries.begin() + static_cast<std::ptrdiff_t>(first_));
  }
  /// Renames the tasks in an entry as Plan::input has them, and in its list.
  void rename(TaskId& entry, std::vector<std::uint32_t>& lists) const;

 private:
  TaskId first_;
  std::vector<TaskId> tasks_;
  std::vector<TaskId> now_;  // by old number, counted from the first
};

}  // namespace penstock
