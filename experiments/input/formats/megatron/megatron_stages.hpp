#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
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

/// The stages of a --pipeline-model-parallel-layout, each as the letters of its layers:
/// "Et*2|(t|)*2L" is {"Ett", "t", "t", "L"}. E is the embedding, t a transformer layer, m a layer
/// of multi-token prediction, L the loss. A bar ends a stage; *3 repeats the letter, bar or group
/// in parentheses before it. Throws InputError naming the wrong character, also for an empty stage:
/// Megatron-LM passes tensors through it, which a pipeline of layers cannot do.
std::vector<std::string> pipeline_layout_stages(std::string_view layout);

/// The numbers of a list in Python's notation: "([0]*3+[1]*58)". Throws InputError naming the wrong
/// character.
std::vector<std::size_t> python_list(std::string_view text);

}  // namespace penstock
