#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "hardware_models/links/wiring.hpp"
#include "sim/base/time.hpp"

namespace penstock {

/// What the simulation of a layout says.
struct Trial {
  Time makespan{};
  std::uint64_t peak_bytes = 0;  // of the worst rank
  std::optional<std::uint64_t> capacity_bytes;
  std::uint64_t timeline_hash = 0;  // of what runs when and where
  double samples_per_s = 0;
  std::optional<double> tokens_per_s;
  std::string refusal;  // why it cannot run; empty if it can

  bool fits() const {
    return refusal.empty() && (!capacity_bytes || peak_bytes <= *capacity_bytes);
  }
};

/// Simulates a layout, with the result of `run` and without its report.
/// Scenarios share the links of their machine by `clusters`.
Trial try_layout(const Scenario& scenario, const Catalogue& catalogue, Clusters& clusters);

}  // namespace penstock
