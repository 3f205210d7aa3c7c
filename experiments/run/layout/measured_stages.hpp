#pragma once

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// Refuses a named schedule that a model of measured times from a file cannot run, with the way on:
/// more stages than there are layers, or a split backward where only B was measured.
void check_measured_stages(const Scenario& scenario, const Layout& layout);

}  // namespace penstock
