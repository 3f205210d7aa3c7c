#pragma once

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// Slows the middle rank by the expected factor of the slowest machine of the layout, which all
/// replicas wait for, and notes it. Throws InputError where the layout has no machines.
void expect_slow_machines(const Scenario& scenario, Layout& layout);

}  // namespace penstock
