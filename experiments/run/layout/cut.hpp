#pragma once

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/model/partition.hpp"

namespace penstock {

/// Cuts the model of a layout for its placement: as stated in the scenario, else by its
/// partitioner. `hardware` prices the layers and the links for it; nullptr: that of the layout is
/// made if it is needed. Throws InputError with a pointer into the scenario.
Partition cut_model(const Scenario& scenario, const Layout& layout,
                    const HardwareModel* hardware = nullptr);

}  // namespace penstock
