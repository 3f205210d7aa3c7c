#pragma once

#include <cstdint>
#include <optional>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/degrees.hpp"

namespace penstock {

/// The batch of an iteration.
struct Batch {
  std::optional<double> sequence;             // tokens of one example
  std::optional<double> microbatch;           // examples per device at a time
  double samples_per_microbatch = 1;          // over all devices of an expert group
  std::optional<std::uint32_t> microbatches;  // per replica; unknown only for an order's file
};

/// Throws InputError with a pointer into the scenario.
Batch settle_batch(const Scenario& scenario, const Degrees& degrees);

}  // namespace penstock
