#pragma once

#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// Assumptions that affect the result where the scenario leaves a choice open: the number of data
/// replicas, and whether gradient reduction overlaps with compute.
std::vector<std::string> assumptions_of(const Scenario& scenario, const Layout& layout);

}  // namespace penstock
