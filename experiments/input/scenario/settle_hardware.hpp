#pragma once

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/scenario/hardware.hpp"
#include "experiments/input/scenario/scenario.hpp"

namespace penstock {

/// Looks up the hardware of a scenario. Reads the catalogue if none is given. Throws InputError
/// that starts with the name of the faulty file.
Hardware settle_hardware(const Scenario& scenario, const Catalogue* known = nullptr);

}  // namespace penstock
