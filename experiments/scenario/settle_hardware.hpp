#pragma once

#include <string>
#include <vector>

#include "experiments/catalogue/catalogue.hpp"
#include "experiments/scenario/scenario.hpp"

namespace penstock {

/// The hardware of a scenario: machine, links and profile.
struct Hardware {
  std::string cost_model;
  HardwareSpec spec;               // except ranks and degrees
  std::vector<std::string> notes;  // assumptions for this scenario
};

/// Looks up the hardware of a scenario. Reads the catalogue if none is given. Throws InputError
/// that starts with the name of the faulty file.
Hardware settle_hardware(const Scenario& scenario, const Catalogue* known = nullptr);

}  // namespace penstock
