#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// An integer of a config: its alternative names, the first present one counts, and its range.
struct HfField {
  std::array<std::string_view, 3> names;
  const char* summary;
  double most;
  double least = 1;
};

/// The fields of a config, or of its text_config if present. Null counts as absent. All functions
/// throw InputError with a JSON pointer for a field of wrong type or size.
class HfFields {
 public:
  /// Keeps references to the document.
  explicit HfFields(const nlohmann::json& document);

  std::optional<double> number(const HfField& field) const;
  double needed(const HfField& field) const;

  /// Any number from 0 to `most`.
  std::optional<double> rate(std::string_view name, double most) const;
  std::optional<bool> flag(std::string_view name) const;
  std::optional<std::string> word(std::string_view name) const;

  /// A list with 0 or 1 per layer; nothing if the field is no list.
  std::optional<std::vector<bool>> layer_flags(std::string_view name, double layers) const;
  /// A list of layer numbers.
  std::optional<std::vector<std::size_t>> layer_list(std::string_view name, double layers) const;
  /// A list with one word per layer.
  std::optional<std::vector<std::string>> layer_words(std::string_view name, double layers) const;

  /// The JSON pointer of a field.
  std::string place(std::string_view name) const;

  /// A word of the text_config, or else of the enclosing config.
  std::optional<std::string> word_anywhere(std::string_view name) const;
  std::optional<bool> flag_anywhere(std::string_view name) const;
  /// The first word of a list.
  std::optional<std::string> first_word_anywhere(std::string_view name) const;

 private:
  HfFields(const nlohmann::json& object, const nlohmann::json& around, std::string place);
  HfFields around() const;
  const nlohmann::json* find(std::string_view name) const;

  const nlohmann::json* object_;
  const nlohmann::json* around_;
  std::string place_;
};

/// The layers that use a config's sliding window.
enum class WindowRule : std::uint8_t {
  never,
  always,     // all, if sliding_window is a number
  when_used,  // from max_window_layers on, if use_sliding_window is true
  alternate,  // every other layer, starting with the first
  pattern,    // all but the last of every sliding_window_pattern (default 6)
};

/// Facts of an architecture that are in its code and not in its config.json, and field names
/// specific to it. Defaults are those of most architectures.
struct HfArchitecture {
  std::string_view name;             // model_type
  std::string_view class_name;       // in "architectures"
  std::string_view other_name = {};  // a model_type that some configs use instead
  bool gated = true;
  bool layer_norm = false;
  bool norms_after = false;
  bool linear_bias = false;     // of all matrices
  bool attention_bias = false;  // of its matrices, unless the field is present
  bool qkv_bias = false;        // of queries, keys and values
  bool out_bias = true;         // of the attention output, if attention_bias is set
  bool qk_norm = false;
  bool learned_positions = false;
  double extra_positions = 0;  // rows of the position table beyond the stated number
  bool tied = false;           // unless tie_word_embeddings is present
  double dropout = 0;          // of attention, residuals and embedding, unless a field is present
  bool latent = false;         // multi-head latent attention
  bool shared_gate = false;
  double shared_experts = 0;  // in widths of the other experts, if no field counts them
  double dense_first = 0;     // layers without experts, unless first_k_dense_replace is present
  double head_dim = 0;        // unless the field is present; 0: hidden over heads
  WindowRule window = WindowRule::never;
  std::string_view dense_width = "intermediate_size";
  std::string_view expert_width = "moe_intermediate_size";
};

/// Sorted by name.
std::span<const HfArchitecture> hf_architectures();

/// The architecture with this model_type or class name, or nullptr.
const HfArchitecture* find_hf_architecture(std::string_view name);

/// "deepseek_v2, deepseek_v3, gemma …".
std::string hf_architecture_names();

}  // namespace penstock
