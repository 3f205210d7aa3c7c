#pragma once

#include <cstddef>
#include <cstdint>
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

/// The same with the action at a place among the other actions of its rank.
std::variant<ViewedRunPtr, MoveRefused> with_op_at(const ViewedRun& run, TaskId task,
                                                   std::size_t place);

/// The place of an action that is put down at a moment: behind those of its rank whose middle is
/// earlier. The run has a layout.
std::size_t place_at(const ViewedRun& run, TaskId task, std::int64_t time);

/// Whether a hand changed the order of a run.
bool has_changed_order(const ViewedRun& run);

/// Why a layout would run otherwise with its order from a file; empty if it would not.
std::string why_not_in_file(const Layout& layout);

/// The scenario of a run with layers moved over the boundary between the stage of a rank and that
/// of the next rank: `layers` to this rank, or from it if negative. Each stage keeps a layer.
/// Throws InputError where no layers can be moved so, and what reading a scenario throws.
Scenario with_moved_boundary(Chain& chain, const ViewedRun& run, std::uint32_t rank, int layers);

/// How many layers the stages of a rank have.
int layers_on(const ViewedRun& run, std::uint32_t rank);

}  // namespace penstock
