#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// How much memory a rank held from some moment on.
struct MemorySample {
  Rank rank;
  Time time;
  std::uint64_t bytes;
  friend bool operator==(const MemorySample&, const MemorySample&) = default;
};

/// When each task of a plan ran, simulated or measured. A transfer ends when it has arrived, so
/// transfers of one link may overlap by its latency.
struct Timeline {
  // One entry a task of the plan.
  std::vector<Time> begin;
  std::vector<Time> end;
  std::vector<TaskId> last_input;  // the listed input that arrived last, or no_task

  // One entry a task, or empty where nothing of the kind can happen.
  std::vector<Time> slowed;       // how much longer it took because of others
  std::vector<Time> memory_wait;  // how long it waited for memory before it began

  std::vector<MemorySample> memory;  // by rank, then time; one on each change
  std::uint32_t iteration = 0;
  std::map<std::string, std::string> environment;  // of a measured run: device, driver, host …

  friend bool operator==(const Timeline&, const Timeline&) = default;
};

/// Makes a timeline in which nothing has begun or ended: both are -1 ps. Its memory is reused.
void prepare(const Plan& plan, Timeline& timeline);

/// Says of each task which of its inputs arrived last, the first of equals; when they ended is
/// known.
void find_last_inputs(const Plan& plan, Timeline& timeline);

/// The end of the last task, transfers of the tail included.
Time makespan(const Plan& plan, const Timeline& timeline);

/// A task's time in a column that is empty where all are zero.
inline Time time_in(const std::vector<Time>& column, TaskId task) {
  return column.empty() ? Time{} : column[task];
}

}  // namespace penstock
