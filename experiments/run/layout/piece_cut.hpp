#pragma once

#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// Cuts the model of a layout into the stages of its order. Where exchanges stand apart, by the
/// scenario or since the order's own cells (`written`) do so, stages are then cut at them, and the
/// order has an action of each piece. Throws InputError with a pointer into the scenario.
void cut_stages(const Scenario& scenario, const std::vector<bool>& written, Layout& layout);

}  // namespace penstock
