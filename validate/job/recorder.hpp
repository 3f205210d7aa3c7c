#pragma once

#include <cstdint>
#include <vector>

#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Begin and end of a task by one clock for all ranks. A transfer ends on arrival.
struct Span {
  Time begin{};
  Time end{};
};

/// A task and when it ran.
struct TaskSpan {
  TaskId task;
  Span span;
};

/// Records when tasks ran. Each lane belongs to one thread and has preallocated memory: nothing is
/// allocated or shared during a run.
class Recorder {
 public:
  /// One lane per capacity, the most records that it takes.
  explicit Recorder(const std::vector<std::uint32_t>& capacities);

  /// Removes all records.
  void clear();
  /// Throws std::logic_error when the lane is full.
  void add(std::uint32_t lane, TaskId task, Span span);
  /// The records of all lanes. Throws std::logic_error unless each task was recorded exactly once,
  /// except `elsewhere` tasks of other processes, which have no time here.
  Timeline timeline(const Plan& plan, std::uint32_t elsewhere = 0) const;

 private:
  struct alignas(64) Lane {  // own cache line
    std::vector<TaskSpan> records;
    std::uint32_t used = 0;
  };

  std::vector<Lane> lanes_;
};

}  // namespace penstock
