#pragma once

#include <string>
#include <variant>

#include "gui/models/run/viewed_run.hpp"

namespace penstock {

/// Why an op cannot move.
struct MoveRefused {
  std::string text;
};

/// The run with an action one place earlier or later in the order of its rank, simulated anew.
/// Refused for transfers and recorded runs, and where the order would not be legal.
std::variant<ViewedRunPtr, MoveRefused> with_moved_op(const ViewedRun& run, TaskId task,
                                                      bool later);

}  // namespace penstock
