#pragma once

#include <vector>

#include "experiments/scenario/scenario.hpp"
#include "validate/store/profile_row.hpp"

namespace penstock {

/// The passes of a scenario's layers as they run in a cell: each once, however often it is in the
/// model. Rows of them are what hardware "measured" needs to price the scenario. Throws UsageError
/// for layers that are known by their times, that a group of devices shares, or that no kernel here
/// runs.
std::vector<KernelPoint> layer_points(const Scenario& scenario);

}  // namespace penstock
