#pragma once

#include <cstdint>
#include <optional>

#include "experiments/layout/degrees.hpp"
#include "experiments/scenario/scenario.hpp"

namespace penstock {

/// What an iteration trains on.
struct Batch {
  std::optional<double> sequence;             // tokens of one example
  std::optional<double> microbatch;           // examples that a device works on at a time
  double samples_per_microbatch = 1;          // of all devices of an expert group
  std::optional<std::uint32_t> microbatches;  // of one replica; only an order's file may leave it
};

/// Throws InputError with a pointer into the scenario.
Batch settle_batch(const Scenario& scenario, const Degrees& degrees);

}  // namespace penstock
