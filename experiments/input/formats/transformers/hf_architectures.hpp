#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

/// The layers that use a config's sliding window, if it is a number and use_sliding_window, which
/// some classes have, is not false.
enum class WindowRule : std::uint8_t {
  never,
  always,        // all
  last,          // from max_window_layers on
  alternate,     // every other layer, starting with the first, before max_window_layers
  pattern,       // all but the last of every sliding_window_pattern (default 6)
  without_rope,  // those of no_rope_layers, or the last of every no_rope_layer_interval
};

/// What brings the tokens of a layer together.
enum class MixerRule : std::uint8_t {
  attention,    // everywhere
  gated_delta,  // but where layer_types or full_attention_interval have attention
  mamba2,       // but where layer_types or attn_layer_indices have attention
  pattern,      // Mamba-2, attention, MLP or experts by layer, as hybrid_override_pattern says
  parallel,     // Mamba-2 and attention in each
};

/// The vision_config of an architecture.
enum class VisionRule : std::uint8_t {
  none,  // not read
  qwen2_5,
  qwen3,
};

/// Facts of an architecture that are in its code and not in its config.json, and field names
/// specific to it. Defaults are those of most architectures.
struct HfArchitecture {
  std::string_view name;             // model_type
  std::string_view class_name;       // in "architectures"
  std::string_view other_name = {};  // a model_type that some configs use instead
  bool gated = true;
  bool layer_norm = false;
  bool plain_norms = false;
  bool norms_before = true;
  bool norms_after = false;
  bool linear_bias = false;     // of all matrices
  bool attention_bias = false;  // of its matrices, unless the field is present
  bool qkv_bias = false;        // of queries, keys and values
  bool out_bias = true;         // of the attention output, if attention_bias is set
  bool qk_norm = false;
  bool wide_qk_norm = false;   // each over all heads
  bool plain_qk_norm = false;  // without weights
  bool output_gate = false;    // of attention
  bool learned_positions = false;
  double extra_positions = 0;  // rows of the position table beyond the stated number
  bool tied = false;           // unless tie_word_embeddings is present
  double dropout = 0;          // of attention, residuals and embedding, unless a field is present
  bool latent = false;         // multi-head latent attention
  bool shared_gate = false;
  bool expert_bias = false;   // also of the router
  double shared_experts = 0;  // in widths of the other experts, if no field counts them
  double dense_first = 0;     // layers without experts, unless first_k_dense_replace is present
  double head_dim = 0;        // unless the field is present; 0: hidden over heads
  WindowRule window = WindowRule::never;
  std::string_view dense_width = "intermediate_size";
  std::string_view expert_width = "moe_intermediate_size";
  MixerRule mixer = MixerRule::attention;
  bool attention_free = false;  // neither attention nor MLPs
  VisionRule vision = VisionRule::none;
  // What its configuration class has for fields that a config leaves out, as a JSON object.
  std::string_view defaults = "{}";
};

/// Sorted by name.
std::span<const HfArchitecture> hf_architectures();

/// The architecture with this model_type or class name, or nullptr.
const HfArchitecture* find_hf_architecture(std::string_view name);

/// "deepseek_v2, deepseek_v3, gemma …".
std::string hf_architecture_names();

}  // namespace penstock
