#pragma once

#include <cstdint>
#include <vector>

#include "experiments/input/formats/megatron/megatron_command.hpp"
#include "sim/base/numbers.hpp"

namespace penstock {

/// How a command partitions its model: `chunks` stages per rank, and the layers of each stage in a
/// ModelSpec with "embedding" in front and "head" at the end. No stages: an even partition.
struct MegatronStages {
  std::uint32_t pipeline = 1;
  std::uint32_t chunks = 1;
  std::vector<std::vector<LayerIndex>> stages;
};

/// Throws InputError with a line as its place, for inconsistent numbers.
MegatronStages megatron_stages(const MegatronCommand& command, double layers, double further);

}  // namespace penstock
