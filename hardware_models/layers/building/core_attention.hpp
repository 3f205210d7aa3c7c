#pragma once

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

/// Attention between its projections: scores, softmax and weighted values. Heads are those of one
/// device.
struct CoreAttention {
  double heads = 1;
  double kv_heads = 1;
  double query_size = 1;  // of a head, same for keys
  double value_size = 1;
  bool causal = true;
  double window = 0;  // tokens of the sliding window; 0: all
  bool flash = true;
  bool dropout = false;
};

/// Average number of keys per token. Flash attention skips masked scores; without it the mask saves
/// nothing.
double keys_of_token(const CoreAttention& core, const CellShape& shape);

/// Adds kernels, FLOPs, the ring exchange of keys and values under context parallelism, and kept
/// bytes besides queries, keys, values and result. No weights, so no W.
void add_core_attention(LayerWork& work, const CoreAttention& core, const CellShape& shape);

}  // namespace penstock
