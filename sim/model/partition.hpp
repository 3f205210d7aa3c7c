#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/numbers.hpp"
#include "sim/model/model_graph.hpp"

namespace penstock {

/// Layers cut into the stages of one copy of the model, and, where the user said so, the ranks that
/// run each stage (several are replicas).
struct Partition {
  std::vector<std::vector<LayerIndex>> stages;
  std::vector<std::vector<Rank>> ranks;  // empty: the schedule's own placement decides
};

/// Parameters of which so many devices of the group that acts as one rank hold the same.
struct SharedParameters {
  double bytes = 0;  // on one device
  double copies = 1;
};

/// What one model stage holds and sends, over all its layers. Not yet rounded.
struct StageSizes {
  double activation_bytes = 0;   // all tensors that leave for later stages, each once
  double stash_bytes = 0;        // to the end of B or W
  double input_stash_bytes = 0;  // to the end of B or I
  double parameter_bytes = 0;
  std::vector<SharedParameters> parameters;  // the same, apart by copies
  double largest_parameter_bytes = 0;        // of two layers in a row, or of the only one
  double recomputed_bytes = 0;
  double pending_weight_bytes = 0;
  double workspace_bytes = 0;  // layers run in turn, so the largest decides
};

/// Sizes of every stage. A tensor that a later stage needs is forwarded hop by hop, so it counts at
/// each boundary it crosses. Throws InputError when an edge leads to an earlier stage.
std::vector<StageSizes> stage_sizes(const ModelGraph& model, const Partition& partition);

/// Checks that every layer is in exactly one stage and no stage is empty; throws InputError.
void check_partition(const ModelGraph& model, const Partition& partition);

}  // namespace penstock
