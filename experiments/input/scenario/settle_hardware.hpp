#pragma once

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/scenario/hardware.hpp"
#include "experiments/input/long_work/memo.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "hardware_models/spec/machine.hpp"

namespace penstock {

/// Machines of one catalogue by their names.
using Machines = Memo<std::string, const Machine>;

/// Looks up the hardware of a scenario. Reads the catalogue if none is given; `machines`, if given,
/// are of this one. Throws InputError that starts with the name of the faulty file.
Hardware settle_hardware(const Scenario& scenario, const Catalogue* known = nullptr,
                         Machines* machines = nullptr);

}  // namespace penstock
