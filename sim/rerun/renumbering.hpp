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
  /// The tasks by old number, in the order of the new ones.
  const std::vector<TaskId>& tasks() const { return tasks_; }

  /// Moves the entries of the tasks in an array with one entry per task, unless it is empty.
  template <class Entry>
  void move(std::vector<Entry>& entries) const {
    if (entries.empty()) return;
    std::vector<Entry> moved;
    moved.reserve(tasks_.size());
    for (const TaskId task : tasks_) moved.push_back(entries[task]);
    std::copy(moved.begin(), moved.end(), entries.begin() + static_cast<std::ptrdiff_t>(first_));
  }
  /// Renumbers the tasks in an entry of `Plan::input`, and in its list.
  void rename(TaskId& entry, std::vector<std::uint32_t>& lists) const;

 private:
  TaskId first_;
  std::vector<TaskId> tasks_;
  std::vector<TaskId> now_;  // by old number, relative to the first
};

}  // namespace penstock
