#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "validate/job/job.hpp"
#include "validate/job/trained_numbers.hpp"

namespace penstock {

/// The weight versions of a model stage by rule: microbatch k is turn k / replicas of its replica
/// and belongs to group turn / group. Weights change after each group, and a group uses the version
/// from `delay` groups before it.
struct StatedVersions {
  std::uint32_t replicas = 1;
  std::uint32_t group = 1;
  std::uint32_t delay = 0;
};

/// Model stages and microbatches, or slices of them, that a codec's run makes again before their
/// backward: what it kept of them is encoded, and what it makes of that is not.
using RemadeCells = std::set<std::pair<std::uint32_t, std::uint32_t>>;

/// Training without a pipeline: one microbatch after the other through the whole model, whole
/// sequences, no recomputation. Independent of plans and orders. With codecs, each slice of a
/// sequence is encoded by itself, and cells that are `remade` are made of what is left of their
/// input.
///
/// `stated`: by model stage; empty: weights do not change. Throws UsageError for unsupported
/// layers.
TrainedNumbers reference_numbers(const JobLayers& layers,
                                 const std::vector<std::uint32_t>& microbatches, bool backward,
                                 const std::vector<StatedVersions>& stated = {},
                                 const RemadeCells& remade = {});

/// Adds the weights after the optimizer step of an iteration, computed from the gradients of these
/// numbers in one place.
void add_step(const JobLayers& layers, TrainedNumbers& numbers);

}  // namespace penstock
