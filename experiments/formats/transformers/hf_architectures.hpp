#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

/// On which layers a sliding window of a config is in force.
enum class WindowRule : std::uint8_t {
  never,
  always,     // on all, where sliding_window is a number
  when_used,  // from max_window_layers on, where use_sliding_window is true
  alternate,  // on every other layer, the first included
  pattern,    // on all but the last of every sliding_window_pattern, else of every six
};

/// What the code of an architecture decides and its config.json does not say, and where names of
/// its fields are its own. Defaults are those of most.
struct HfArchitecture {
  std::string_view name;             // model_type
  std::string_view class_name;       // in "architectures"
  std::string_view other_name = {};  // that some configs have as model_type
  bool gated = true;
  bool layer_norm = false;
  bool norms_after = false;
  bool linear_bias = false;     // of all matrices
  bool attention_bias = false;  // of its matrices, unless the field is there
  bool qkv_bias = false;        // of queries, keys and values
  bool out_bias = true;         // of what attention puts out, where attention_bias says so
  bool qk_norm = false;
  bool learned_positions = false;
  double extra_positions = 0;  // rows of the table of positions beyond those counted
  bool tied = false;           // unless tie_word_embeddings is there
  double dropout = 0;          // of attention, residuals and embedding, unless a field is there
  bool latent = false;         // multi-head latent attention
  bool shared_gate = false;
  double shared_experts = 0;  // of the width of the others, where no field counts them
  double dense_first = 0;     // layers without experts, unless first_k_dense_replace is there
  double head_dim = 0;        // unless the field is there; 0: hidden over heads
  WindowRule window = WindowRule::never;
  std::string_view dense_width = "intermediate_size";
  std::string_view expert_width = "moe_intermediate_size";
};

/// By name.
std::span<const HfArchitecture> hf_architectures();

/// The architecture with some model_type or class name, or nullptr.
const HfArchitecture* find_hf_architecture(std::string_view name);

/// "deepseek_v2, deepseek_v3, gemma …".
std::string hf_architecture_names();

}  // namespace penstock
