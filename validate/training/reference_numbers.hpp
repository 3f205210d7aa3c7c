#pragma once

#include <cstdint>
#include <vector>

#include "validate/job/job.hpp"
#include "validate/job/trained_numbers.hpp"

namespace penstock {

/// Which version of a model stage's weights its microbatches see, by a rule as it is stated:
/// microbatch k is turn k / replicas of its replica and belongs to group turn / group; weights
/// change behind each group, and a group sees those that were made `delay` groups before it.
struct StatedVersions {
  std::uint32_t replicas = 1;
  std::uint32_t group = 1;
  std::uint32_t delay = 0;
};

/// What training comes to without a pipeline: one microbatch after the other through the whole
/// model, whole sequences, nothing made again. It knows no plan and no order.
///
/// `stated`: by model stage; empty: weights do not change. Throws UsageError for layers that are
/// not run.
TrainedNumbers reference_numbers(const JobLayers& layers,
                                 const std::vector<std::uint32_t>& microbatches, bool backward,
                                 const std::vector<StatedVersions>& stated = {});

}  // namespace penstock
