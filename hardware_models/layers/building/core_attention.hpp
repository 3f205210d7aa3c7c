#pragma once

#include <array>

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

/// The parameters of every latent attention.
inline constexpr std::array latent_parameters{
    Parameter{"hidden", "hidden size", std::nullopt},
    Parameter{"heads", "attention heads", std::nullopt},
    Parameter{"q_lora_rank", "rank of the query projection; 0: full", 0, 0},
    Parameter{"kv_lora_rank", "rank of the key and value projection", std::nullopt},
    Parameter{"nope", "key head size without position", std::nullopt},
    Parameter{"rope", "key head size with position, shared by all heads", std::nullopt, 0},
    Parameter{"value", "value head size", std::nullopt},
    flag("causal", "1: causal mask", 1),
    flag("flash", "1: flash attention, scores not kept; 0: all scores kept", 1)};

/// The work of a latent attention: down-projections, queries, keys and values from their latents,
/// attention, output. `chosen`: the most keys that a token attends to; 0: all.
LayerWork latent_attention(const LayerNumbers& numbers, const CellShape& shape, double chosen = 0);

}  // namespace penstock
