#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/numbers.hpp"
#include "sim/model/model_graph.hpp"

namespace penstock {

/// The layers of each stage in one copy of the model and, if the user says so, the ranks of each
/// stage (several are replicas).
struct Partition {
  std::vector<std::vector<LayerIndex>> stages;
  std::vector<std::vector<Rank>> ranks;  // empty: the schedule's placement decides
};

/// The stage of each layer; the largest number for a layer in none.
std::vector<std::uint32_t> stage_of_layers(const Partition& partition, std::size_t layers);

/// Parameters that `copies` devices hold in the groups of a rank of each `spread` data replicas.
struct SharedParameters {
  double bytes = 0;  // on one device
  double copies = 1;
  double spread = 1;
};

/// Parameters of a layer outside its experts, and those of its experts.
std::array<SharedParameters, 2> parameters_of(const Layer& layer);

/// What one model stage holds and sends, over all its layers. Unrounded.
struct StageSizes {
  double activation_bytes = 0;   // all tensors for later stages, once each
  double stash_bytes = 0;        // to the end of B or W
  double input_stash_bytes = 0;  // to the end of B or I
  double offloaded_bytes = 0;    // in host memory
  double parameter_bytes = 0;
  std::vector<SharedParameters> parameters;  // the same, by who holds them
  double gathered_bytes = 0;                 // of them, where ZeRO gathers them
  double recomputed_bytes = 0;
  double pending_weight_bytes = 0;
  double workspace_bytes = 0;  // layers run in turn, so the maximum
};

/// Sizes of every stage. A tensor for a later stage is forwarded hop by hop, so it counts at each
/// boundary. Throws InputError when an edge leads to an earlier stage.
std::vector<StageSizes> stage_sizes(const ModelGraph& model, const Partition& partition);

/// Checks that every layer is in exactly one stage and no stage is empty; throws InputError.
void check_partition(const ModelGraph& model, const Partition& partition);

}  // namespace penstock
