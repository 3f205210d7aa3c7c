#pragma once

#include "hardware_models/layers/building/layer_work.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

/// What happens between the projections of an attention: scores, softmax, and the mean of values.
/// Heads are those of one device.
struct CoreAttention {
  double heads = 1;
  double kv_heads = 1;
  double query_size = 1;  // of a head; keys are as large
  double value_size = 1;
  bool causal = true;
  double window = 0;  // how many tokens back one may look; 0: all
  bool flash = true;
  bool dropout = false;
};

/// How many keys a token is multiplied with, on average. Flash attention leaves out what the mask
/// leaves out; without it the mask saves nothing.
double keys_of_token(const CoreAttention& core, const CellShape& shape);

/// Adds kernels, FLOPs, the ring over which context parallelism passes keys and values, and what is
/// kept beside queries, keys, values and the result. It has no weights, so no W.
void add_core_attention(LayerWork& work, const CoreAttention& core, const CellShape& shape);

}  // namespace penstock
