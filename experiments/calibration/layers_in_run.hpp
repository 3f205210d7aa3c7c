#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/scenario/scenario.hpp"
#include "validate/backends/registry.hpp"
#include "validate/calibration/kernel_sweep.hpp"

namespace penstock {

/// Passes of a scenario's layers, measured inside the actions of a run of 1F1B.
struct LayersInRun {
  std::vector<SweptPoint> points;  // a sample is the mean of an iteration
  std::uint32_t iterations = 0;    // after warm-up
  std::string why_not;             // empty: they were measured
};

/// Runs a scenario's model under 1F1B for about `seconds`. All ranks run at once, with the
/// caches and the memory of a run, so that layers take as long as in other schedules.
LayersInRun layers_in_run(const Scenario& scenario, const BackendEntry& backend, double seconds);

}  // namespace penstock
