#pragma once

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// Tells the hardware of a layout its ranks, the devices per rank, and the distance between
/// replicas; then seats devices that do not fill their machines evenly, with tensor, context and
/// expert groups together where a machine holds them. A stated size of machines stays as it is.
void spread_ranks(const Scenario& scenario, Layout& layout);

}  // namespace penstock
