#pragma once

#include <cstdint>

#include "experiments/scenario/scenario.hpp"

namespace penstock {

/// Over how many devices a pipeline rank and its replicas spread.
struct Degrees {
  std::uint32_t tensor = 1;
  std::uint32_t data = 1;
  std::uint32_t context = 1;
  std::uint32_t expert = 1;
  bool sequence_parallel = false;
  bool overlaps_sums = true;  // of gradients

  /// Devices that act as one pipeline rank.
  std::uint64_t group() const { return std::uint64_t{tensor} * context * expert; }
};

/// Settles them: data replicas that are left open take up the devices. Throws InputError with a
/// pointer into the scenario.
Degrees settle_degrees(const Scenario& scenario);

/// Devices that act as one pipeline rank, times the copies of the pipeline. Throws as above.
std::uint64_t devices_per_rank(const Degrees& degrees);

}  // namespace penstock
