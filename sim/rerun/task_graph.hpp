#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/rerun/renumbering.hpp"

namespace penstock {

/// The neighbours of each task of a plan: before and after it on its rank or link, and the readers
/// of its output.
class TaskGraph {
 public:
  explicit TaskGraph(const Plan& plan);

  /// Neighbours on the rank or link; no_task at its ends.
  TaskId before(TaskId task) const { return slots_[place_[task] - 1]; }
  TaskId behind(TaskId task) const { return slots_[place_[task] + 1]; }
  /// The tasks of a rank or link in order.
  std::span<const TaskId> order(std::uint32_t resource) const {
    return {slots_.data() + first_[resource], slots_.data() + first_[resource + 1] - 1};
  }
  /// Calls `visit(reader)` for each task that lists this one as an input.
  template <class Visitor>
  void for_each_reader(TaskId task, Visitor&& visit) const {
    const TaskId first = reader_[task];
    if (first == no_task) return;
    if ((first & Plan::several) == 0) return visit(first);
    const std::uint32_t* list = &readers_[first & ~Plan::several];
    for (std::uint32_t i = 1; i <= *list; ++i) visit(list[i]);
  }

  /// The place of a task; places of a rank or link are consecutive.
  std::uint32_t place(TaskId task) const { return place_[task]; }
  std::uint32_t first_place(std::uint32_t resource) const { return first_[resource]; }
  std::uint32_t places() const { return static_cast<std::uint32_t>(slots_.size()); }
  TaskId at(std::uint32_t place) const { return slots_[place]; }
  void put(std::uint32_t place, TaskId task);

  /// Renumbers the readers of a task.
  void rename(TaskId task, const Renumbering& numbers) { numbers.rename(reader_[task], readers_); }
  /// Moves tasks to their new numbers; their places stay.
  void move(const Renumbering& numbers);

 private:
  void find_readers(const Plan& plan);

  std::vector<std::uint32_t> first_;  // by resource, plus the end
  std::vector<TaskId> slots_;         // by place; no_task before each resource and at the end
  std::vector<std::uint32_t> place_;  // by task
  std::vector<TaskId> reader_;        // by task, encoded as Plan::input
  std::vector<std::uint32_t> readers_;
};

}  // namespace penstock
