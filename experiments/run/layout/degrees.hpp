#pragma once

#include <cstdint>
#include <optional>

#include "experiments/input/scenario/scenario.hpp"

namespace penstock {

/// How many devices a pipeline rank and its replicas use.
struct Degrees {
  std::uint32_t tensor = 1;
  std::uint32_t data = 1;
  std::uint32_t context = 1;
  std::uint32_t expert = 1;         // of tensor x context x data: these add no device
  std::uint32_t expert_tensor = 1;  // devices that share an expert
  bool sequence_parallel = false;
  bool overlaps_sums = true;             // overlap gradient reduction with compute
  std::optional<bool> overlaps_gathers;  // of new weights with the next forwards, where stated
  std::optional<double> bucket_bytes;    // of gradients reduced at once, where stated
  bool overlaps_experts = false;         // overlap all-to-alls of experts with compute
  bool overlaps_shared = false;          // overlap them with the shared expert
  bool narrow_gathers = false;           // weights in the precision of their products
  bool overlaps_tensor = true;           // tensor groups hide what their stack hides
  std::optional<bool> deduplicates;      // tokens to experts, where stated
  bool scatters = false;                 // each device of a tensor group sends its share only

  /// Devices that act as one pipeline rank.
  std::uint64_t group() const { return std::uint64_t{tensor} * context; }
};

/// Settles the degrees. An open number of data replicas uses all remaining devices, or is the least
/// that the experts take. Throws InputError with a pointer into the scenario.
Degrees settle_degrees(const Scenario& scenario);

/// Devices that act as one pipeline rank, times the data replicas. Throws as above.
std::uint64_t devices_per_rank(const Degrees& degrees);

/// The batch of an iteration.
struct Batch {
  std::optional<double> sequence;    // tokens of one example
  std::optional<double> microbatch;  // examples of a replica at a time
  double samples_per_microbatch = 1;
  std::optional<std::uint32_t> microbatches;  // per replica; unknown only for an order's file
};

/// Throws InputError with a pointer into the scenario.
Batch settle_batch(const Scenario& scenario, const Degrees& degrees);

}  // namespace penstock
