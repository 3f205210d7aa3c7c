#pragma once

#include <cstddef>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/plan/plan.hpp"

namespace penstock {

/// The tasks of a stretch of a rank's order, found by stage, microbatch and pass, with their new
/// places.
class Stretch {
 public:
  using Key = std::tuple<Stage, Microbatch, Pass>;

  /// The tasks must outlive the stretch; no task has a new place yet.
  Stretch(const Plan& plan, std::span<const TaskId> tasks);

  std::span<const TaskId> old_order() const { return tasks_; }
  /// no_task when the stretch has no such task.
  TaskId find(const Key& key) const;
  /// Sets the new place of a task; false when it already has one.
  bool put(TaskId task, std::size_t place);
  std::size_t place_of(TaskId task) const { return new_place_[number_of(task)]; }

 private:
  static constexpr std::size_t unplaced = SIZE_MAX;
  using Entry = std::pair<Key, TaskId>;

  Key key_of(TaskId task) const;
  std::vector<Entry>::const_iterator entry(const Key& key) const;
  std::size_t number_of(TaskId task) const;

  const Plan& plan_;
  std::span<const TaskId> tasks_;
  std::vector<Entry> by_key_;           // sorted
  std::vector<std::size_t> new_place_;  // by entry
};

}  // namespace penstock
