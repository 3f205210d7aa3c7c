#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

/// A mixture of experts in place of the MLP.
struct ExpertShape {
  double experts = 0;
  double chosen = 0;  // per token
  double intermediate = 0;
  double shared_intermediate = 0;  // of the shared experts; 0: none
  bool shared_gate = false;
  double capacity_factor = 0;  // 0: no token is dropped
};

/// Multi-head latent attention: queries, keys and values from low-rank vectors.
struct LatentShape {
  double q_lora_rank = 0;  // 0: queries come from the full vector
  double kv_lora_rank = 0;
  double nope = 0;
  double rope = 0;
  double value = 0;
};

/// The shape of a transformer decoder. Formats fill it in.
struct TransformerShape {
  double layers = 0;
  double hidden = 0;
  double heads = 0;
  double kv_heads = 0;
  double head_dim = 0;
  double intermediate = 0;
  double vocab = 0;
  double learned_positions = 0;  // 0: positions have no parameters
  double further = 0;            // layers of multi-token prediction

  bool layer_norm = false;   // with biases, instead of RMSNorm
  bool norms_after = false;  // attention and MLP also have a norm after them
  bool final_norm = true;
  bool gated = true;  // the MLP
  bool qkv_bias = false;
  bool out_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;
  bool tied = false;       // embedding and head share their parameters
  bool fused_loss = true;  // one kernel for the whole loss
  bool flash = true;
  double attention_dropout = 0;  // of scores, as a fraction
  double hidden_dropout = 0;     // of the outputs of attention, MLP and embedding, as a fraction

  std::optional<LatentShape> latent;
  std::optional<ExpertShape> experts;
  std::vector<bool> has_experts;  // by layer; empty: all layers if `experts` is set, else none
  std::vector<double> window;     // of attention, by layer; 0: none; empty: none anywhere
};

/// Larger numbers are taken for a mistake, and nothing is built from them.
struct TransformerLimits {
  static constexpr double layers = 10'000;
  static constexpr double width = 1e7;  // of any vector of a token
  static constexpr double heads = 65'536;
  static constexpr double vocab = 1e9;
  static constexpr double positions = 1e9;
  static constexpr double experts = 65'536;
  static constexpr double further = 64;
};

/// Blocks "embedding", "block 0" …, "further 0" … (multi-token prediction) and "head". The model's
/// head and the last norm are in "head".
ModelSpec transformer_spec(const TransformerShape& shape);

}  // namespace penstock
