#pragma once

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/scenario/hardware.hpp"
#include "experiments/input/scenario/scenario.hpp"

namespace penstock {

/// Gives the device of the hardware the constants of the scenario's stack: the named one, or
/// the usual one of its kind of training if that lists the device. Notes which, and how sure its
/// step times are. Throws InputError for an unknown name.
void take_stack(const Scenario& scenario, const Catalogue& catalogue, Hardware& hardware);

}  // namespace penstock
