#pragma once

#include "experiments/layout/layout.hpp"
#include "experiments/scenario/scenario.hpp"
#include "sim/model/partition.hpp"

namespace penstock {

/// Cuts the model of a layout for its placement: as stated in the scenario, else by its
/// partitioner. Throws InputError with a pointer into the scenario.
Partition cut_model(const Scenario& scenario, const Layout& layout);

}  // namespace penstock
