#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/rerun/renumbering.hpp"

namespace penstock {

/// What stands around each task of a plan: before and behind it on its rank or link, and who reads
/// what it puts out.
class TaskGraph {
 public:
  explicit TaskGraph(const Plan& plan);

  /// The neighbours on the rank or link; no_task at its ends.
  TaskId before(TaskId task) const { return slots_[place_[task] - 1]; }
  TaskId behind(TaskId task) const { return slots_[place_[task] + 1]; }
  /// The tasks of a rank or link in their order.
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

  /// Where tasks stand: the places of a rank or link follow each other.
  std::uint32_t place(TaskId task) const { return place_[task]; }
  std::uint32_t first_place(std::uint32_t resource) const { return first_[resource]; }
  std::uint32_t places() const { return static_cast<std::uint32_t>(slots_.size()); }
  TaskId at(std::uint32_t place) const { return slots_[place]; }
  void put(std::uint32_t place, TaskId task);

  /// Renames the readers of a task.
  void rename(TaskId task, const Renumbering& numbers) { numbers.rename(reader_[task], readers_); }
  /// Moves tasks to their new numbers; where they stand does not change.
  void move(const Renumbering& numbers);

 private:
  void find_readers(const Plan& plan);

  std::vector<std::uint32_t> first_;  // by resource, and where one more would begin
  std::vector<TaskId> slots_;         // by place; no_task in front of each resource and at the end
  std::vector<std::uint32_t> place_;  // by task
  std::vector<TaskId> reader_;        // by task, as Plan::input has inputs
  std::vector<std::uint32_t> readers_;
};

}  // namespace penstock
