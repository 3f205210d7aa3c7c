#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

/// A mixture of experts in place of the MLP.
struct ExpertShape {
  double experts = 0;
  double chosen = 0;  // per token
  double intermediate = 0;
  double shared_intermediate = 0;  // of the shared experts; 0: none
  double latent = 0;               // width of what the routed experts read; 0: the model's
  bool shared_gate = false;
  bool bias = false;           // of routed experts and the router
  double capacity_factor = 0;  // 0: no token is dropped
};

/// Multi-head latent attention: queries, keys and values from low-rank vectors.
struct LatentShape {
  double q_lora_rank = 0;  // 0: queries come from the full vector
  double kv_lora_rank = 0;
  double nope = 0;
  double rope = 0;
  double value = 0;
  // Of an indexer that chooses the keys of each token; 0: none.
  double index_heads = 0;
  double index_dim = 0;
  double chosen = 0;
};

/// An encoder of pictures before the first layer.
struct VisionShape {
  std::vector<BlockSpec> blocks;  // run for the patches of an example; none where it has no picture
  double tokens = 0;              // of the decoder that the pictures of an example become
  double deep = 0;                // further mergers, of the outputs of inner layers
};

/// What brings the tokens of a layer together.
enum class Mixer : std::uint8_t { attention, state, state_and_attention, none };

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
  bool plain_norms = false;  // without weights
  bool norms_before = true;  // attention and MLP have a norm before them
  bool norms_after = false;  // and after them
  bool final_norm = true;
  bool gated = true;  // the MLP
  bool qkv_bias = false;
  bool out_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;
  bool wide_qk_norm = false;   // over all heads of a token
  bool plain_qk_norm = false;  // without weights
  bool output_gate = false;    // of attention
  bool tied = false;           // embedding and head share their parameters
  bool fused_loss = true;      // one kernel for the whole loss
  bool flash = true;
  double attention_dropout = 0;  // of scores, as a fraction
  double hidden_dropout = 0;     // of the outputs of attention, MLP and embedding, as a fraction

  std::optional<LatentShape> latent;
  std::optional<ExpertShape> experts;
  std::optional<VisionShape> vision;
  LayerSpec state;                // Gated DeltaNet or Mamba-2, of layers that pass a state on
  std::vector<Mixer> mixers;      // by layer; empty: attention everywhere
  std::vector<bool> has_network;  // an MLP or experts, by layer; empty: everywhere
  std::vector<bool> has_indexer;  // by layer; empty: everywhere; others use the keys of one before
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

/// Blocks of vision if there are any, then "embedding", "block 0" …, "further 0" … (multi-token
/// prediction) and "head". The model's head and the last norm are in "head".
ModelSpec transformer_spec(const TransformerShape& shape);

}  // namespace penstock
