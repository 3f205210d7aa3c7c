#pragma once

#include <string>
#include <vector>

#include "experiments/catalogue/catalogue.hpp"
#include "experiments/scenario/scenario.hpp"

namespace penstock {

/// The hardware that a scenario names: its machine, links and profile, looked up.
struct Hardware {
  std::string cost_model;
  HardwareSpec spec;               // but for ranks and degrees
  std::vector<std::string> notes;  // what it lacks for this scenario
};

/// Looks up what a scenario names. The catalogue is read where none is given. Throws InputError
/// with the name of the file that is at fault in front.
Hardware settle_hardware(const Scenario& scenario, const Catalogue* known = nullptr);

}  // namespace penstock
