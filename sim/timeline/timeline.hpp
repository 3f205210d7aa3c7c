#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// Memory held by a rank from some moment on.
struct MemorySample {
  Rank rank;
  Time time;
  std::uint64_t bytes;
  friend bool operator==(const MemorySample&, const MemorySample&) = default;
};

/// When each task of a plan ran, simulated or measured. A transfer ends on arrival, so transfers of
/// one link may overlap by its latency.
struct Timeline {
  // One entry per task of the plan.
  std::vector<Time> begin;
  std::vector<Time> end;
  std::vector<TaskId> last_input;  // the listed input that arrived last, or no_task

  // One entry per task, or empty if always zero.
  std::vector<Time> slowed;       // slowdown due to other tasks
  std::vector<Time> memory_wait;  // wait for memory before it began

  std::vector<MemorySample> memory;  // by rank, then time; one per change
  std::uint32_t iteration = 0;
  std::map<std::string, std::string> environment;  // of a measured run: device, driver, host …

  friend bool operator==(const Timeline&, const Timeline&) = default;
};

/// Key of the environment of a measured run: which of its clocks contradict each other.
constexpr const char* unaligned_key = "unaligned";

/// Resets a timeline: all begins and ends are -1 ps. Reuses its memory.
void prepare(const Plan& plan, Timeline& timeline);

/// The listed input of a task that arrived last, ties to the first; or no_task. `end`: by task.
inline TaskId last_input_of(const Plan& plan, const std::vector<Time>& end, TaskId task) {
  TaskId last = no_task;
  for (const TaskId input : plan.inputs_of(task)) {
    if (last == no_task || end[input] > end[last]) last = input;
  }
  return last;
}
/// Sets these inputs of all tasks; ends must be known.
void find_last_inputs(const Plan& plan, Timeline& timeline);

/// The end of the last task, including transfers of the tail.
Time makespan(const Plan& plan, const Timeline& timeline);

/// When a rank, an end of a transfer, was ready for it: behind what it ran before its SEND or RECV,
/// and behind its transfers that a stream has in front. From then on the other end or the link is
/// waited for. The begin of the transfer unless communication is written, and where the transfer
/// did not wait for that rank, as an eager one does not for its RECV.
Time end_ready_at(const Plan& plan, const Timeline& timeline, TaskId transfer, Rank rank);

/// A task's time in a column that is empty when all are zero.
inline Time time_in(const std::vector<Time>& column, TaskId task) {
  return column.empty() ? Time{} : column[task];
}

}  // namespace penstock
