#pragma once

#include <string>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/scenario/hardware.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "hardware_models/spec/machine.hpp"

namespace penstock {

/// A machine of the catalogue, kept for the next scenario that names it.
struct KnownMachine {
  std::string name;  // empty: none is known
  Machine machine;
};

/// As `settle_hardware`. Takes the machine of a catalogue from `known` where it is the one that the
/// scenario names, and leaves its own there. All calls have the same catalogue.
Hardware settle_hardware(const Scenario& scenario, const Catalogue& catalogue, KnownMachine& known);

}  // namespace penstock
