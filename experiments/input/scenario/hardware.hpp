#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/input/catalogue/stacks.hpp"
#include "hardware_models/spec/hardware_spec.hpp"

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

}  // namespace penstock
