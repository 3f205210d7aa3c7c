#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/plan/plan.hpp"

namespace penstock {

/// An op of one of the runs on an axis; a task alone is one of the first run.
struct ShownOp {
  TaskId task;
  std::uint8_t run;
  constexpr ShownOp(TaskId of = no_task, std::uint8_t in = 0) : task(of), run(in) {}
  constexpr bool is_none() const { return task == no_task; }
  friend bool operator==(const ShownOp&, const ShownOp&) = default;
};

/// Ops of one of the runs on an axis.
struct ShownOps {
  std::vector<TaskId> tasks{};
  std::uint8_t run = 0;
  bool empty() const { return tasks.empty(); }
  std::size_t size() const { return tasks.size(); }
  friend bool operator==(const ShownOps&, const ShownOps&) = default;
};

}  // namespace penstock
