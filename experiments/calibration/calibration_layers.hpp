#pragma once

#include <vector>

#include "experiments/scenario/scenario.hpp"
#include "validate/store/profile_row.hpp"

namespace penstock {

/// The passes of a scenario's layers as they run in a cell, each once. Hardware "measured" needs
/// rows of them to price the scenario. Throws UsageError for layers with given times, layers shared
/// by several devices, and layers that no kernel here runs.
std::vector<KernelPoint> layer_points(const Scenario& scenario);

}  // namespace penstock
