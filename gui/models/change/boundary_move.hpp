#pragma once

#include <cstdint>

#include "gui/models/run/viewed_run.hpp"

namespace penstock {

/// The scenario of a run with layers moved over the boundary between the stage of a rank and that
/// of the next rank: `layers` to this rank, or from it if negative. Each stage keeps a layer.
/// Throws InputError where no layers can be moved so, and what reading a scenario throws.
Scenario with_moved_boundary(const ViewedRun& run, std::uint32_t rank, int layers);

/// How many layers the stages of a rank have.
int layers_on(const ViewedRun& run, std::uint32_t rank);

}  // namespace penstock
