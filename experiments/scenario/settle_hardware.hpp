#pragma once

#include <string>
#include <vector>

#include "experiments/catalogue/catalogue.hpp"
#include "experiments/catalogue/stacks.hpp"
#include "experiments/scenario/scenario.hpp"

namespace penstock {

/// How sure the times of kernels are.
struct Confidence {
  double spread = 0;  // relative standard deviation of a step time
  std::string because;
  Provenance provenance;
};

/// The hardware of a scenario: machine, links and profile.
struct Hardware {
  std::string cost_model;
  HardwareSpec spec;                     // except ranks and degrees
  std::vector<std::string> notes;        // assumptions for this scenario
  std::optional<Confidence> confidence;  // of kernels that a stack prices
};

/// Looks up the hardware of a scenario. Reads the catalogue if none is given. Throws InputError
/// that starts with the name of the faulty file.
Hardware settle_hardware(const Scenario& scenario, const Catalogue* known = nullptr);

}  // namespace penstock
