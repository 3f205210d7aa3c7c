#pragma once

#include <cstdint>
#include <vector>

#include "experiments/formats/megatron/megatron_command.hpp"
#include "sim/base/numbers.hpp"

namespace penstock {

/// How a command cuts its model: into `chunks` stages a rank, and which layers of a ModelSpec, with
/// "embedding" in front and "head" at the end, each stage has. No stages: an even cut.
struct MegatronStages {
  std::uint32_t pipeline = 1;
  std::uint32_t chunks = 1;
  std::vector<std::vector<LayerIndex>> stages;
};

/// Throws InputError, its place a line, where the numbers do not go together.
MegatronStages megatron_stages(const MegatronCommand& command, double layers, double further);

}  // namespace penstock
