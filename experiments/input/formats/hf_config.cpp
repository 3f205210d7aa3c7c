#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/registry.hpp"
#include "experiments/input/formats/transformers/hf_architectures.hpp"
#include "experiments/input/formats/transformers/hf_fields.hpp"
#include "experiments/input/formats/transformers/hf_parts.hpp"
#include "experiments/input/formats/transformers/transformer_shape.hpp"
#include "sim/base/error.hpp"

namespace penstock::hf_config_file {
namespace {

using Limit = TransformerLimits;

constexpr HfField layers{{"num_hidden_layers", "n_layer"}, "the layers", Limit::layers};
constexpr HfField hidden{{"hidden_size", "n_embd"}, "the width of the model", Limit::width};
constexpr HfField heads{{"num_attention_heads", "n_head"}, "the heads of queries", Limit::heads};
constexpr HfField kv_heads{{"num_key_value_heads"}, "the heads of keys and values", Limit::heads};
constexpr HfField head_dim{{"head_dim"}, "the width of a head", Limit::width};
constexpr HfField vocab{{"vocab_size"}, "the tokens that there are", Limit::vocab};
constexpr HfField positions{
    {"max_position_embeddings", "n_positions", "n_ctx"}, "the longest sequence", Limit::positions};
constexpr HfField further{{"num_nextn_predict_layers", "mtp_num_hidden_layers"},
                          "the layers of multi-token prediction",
                          Limit::further,
                          0};

constexpr HfField experts{{"n_routed_experts", "num_local_experts", "num_experts"},
                          "the experts of a layer, or 0",
                          Limit::experts,
                          0};
constexpr HfField chosen{{"num_experts_per_tok"}, "the experts that a token meets", Limit::experts};
constexpr HfField shared_experts{
    {"n_shared_experts"}, "the experts that every token meets", Limit::experts, 0};
constexpr HfField shared_width{{"shared_expert_intermediate_size",
                                "moe_shared_expert_intermediate_size", "shared_intermediate_size"},
                               "the width of what every token meets",
                               Limit::width,
                               0};
constexpr HfField dense_first{
    {"first_k_dense_replace"}, "the first layers, which have no experts", Limit::layers, 0};
constexpr HfField every{
    {"moe_layer_freq"}, "of how many layers one has experts, or a list of 0 and 1", Limit::layers};
constexpr HfField every_last{{"decoder_sparse_step", "interleave_moe_layer_step"},
                             "of how many layers the last has experts",
                             Limit::layers};

constexpr HfField expert_latent{
    {"moe_latent_size"}, "the width of what routed experts read", Limit::width};

constexpr HfField q_lora_rank{{"q_lora_rank"}, "the width of latent queries", Limit::width};
constexpr HfField kv_lora_rank{
    {"kv_lora_rank"}, "the width of latent keys and values", Limit::width};
constexpr HfField nope{{"qk_nope_head_dim"}, "the part of a head without positions", Limit::width};
constexpr HfField rope{{"qk_rope_head_dim"}, "the part of a head with positions", Limit::width};
constexpr HfField value{{"v_head_dim"}, "the width of a head's values", Limit::width};

constexpr HfField window{
    {"sliding_window"}, "the tokens that one attends to, or 0", Limit::positions, 0};
constexpr HfField period{{"sliding_window_pattern", "_sliding_window_pattern"},
                         "of how many layers the last has no window",
                         Limit::layers};
constexpr HfField window_layers{
    {"max_window_layers"}, "the layers before others have a window, or none", Limit::layers, 0};
constexpr HfField rope_period{
    {"no_rope_layer_interval"}, "of how many layers the last has no positions", Limit::layers};

[[noreturn]] void unknown_architecture(const std::string& where, const std::string& what) {
  throw InputError(where, fmt::format("{}; known: {}; --arch NAME reads it as one of them", what,
                                      hf_architecture_names()));
}

const HfArchitecture& architecture_of(const HfFields& config, const ModelFileOptions& options) {
  if (!options.architecture.empty()) {
    if (const auto* row = find_hf_architecture(options.architecture)) return *row;
    throw InputError("", fmt::format("unknown architecture \"{}\"; known: {}", options.architecture,
                                     hf_architecture_names()));
  }
  for (const char* name : {"model_type", "hf_model_type"}) {
    const auto type = config.word_anywhere(name);
    if (const auto* row = find_hf_architecture(type.value_or(""))) return *row;
  }
  const auto class_name = config.first_word_anywhere("architectures");
  if (const auto* row = find_hf_architecture(class_name.value_or(""))) return *row;
  const auto type = config.word_anywhere("model_type");
  const std::string where = config.place("model_type");
  if (type) unknown_architecture(where, fmt::format("unknown architecture \"{}\"", *type));
  if (class_name) {
    unknown_architecture(config.place("architectures"),
                         fmt::format("unknown architecture \"{}\"", *class_name));
  }
  unknown_architecture(where, "\"model_type\" is missing");
}

/// Fills in a shape from a config.
class Reader {
 public:
  Reader(const HfFields& config, const HfArchitecture& row) : config_(config), row_(row) {}

  TransformerShape read() {
    read_sizes();
    read_facts();
    if (row_.latent) {
      read_latent();
    } else if (!row_.attention_free) {
      read_heads();
    }
    read_experts();
    read_hf_mixers(config_, row_.mixer, shape_);
    if (row_.attention_free) shape_.has_network.assign(shape_.mixers.size(), false);
    read_width();
    read_windows();
    return shape_;
  }

 private:
  bool fact(const char* name, bool otherwise) const {
    return config_.flag(name).value_or(otherwise);
  }

  void read_sizes() {
    const bool by_letters = row_.mixer == MixerRule::pattern;
    shape_.layers = by_letters ? listed_layers() : config_.needed(layers);
    shape_.hidden = config_.needed(hidden);
    if (!row_.attention_free) shape_.heads = config_.needed(heads);
    shape_.vocab = config_.needed(vocab);
    if (!by_letters) shape_.further = config_.number(further).value_or(0);
    if (fact("learned_pos", row_.learned_positions)) {
      shape_.learned_positions = config_.needed(positions) + row_.extra_positions;
    }
    if (const auto width = config_.rate("word_embed_proj_dim", Limit::width);
        width.value_or(shape_.hidden) != shape_.hidden) {
      throw InputError(config_.place("word_embed_proj_dim"),
                       "an embedding narrower than the model is not known; it must be hidden_size");
    }
  }

  double listed_layers() const {
    const auto pattern = hf_layer_pattern(config_);
    if (pattern && !pattern->empty() && pattern->size() <= Limit::layers) {
      return static_cast<double>(pattern->size());
    }
    throw InputError(config_.place("hybrid_override_pattern"),
                     fmt::format("\"hybrid_override_pattern\" is missing; expected a letter for "
                                 "each layer, from 1 to {}",
                                 Limit::layers));
  }

  void read_facts() {
    const bool everywhere = fact("linear_bias", fact("enable_bias", row_.linear_bias));
    const bool attention = fact("attention_bias", everywhere || row_.attention_bias);
    shape_.qkv_bias = fact("qkv_bias", attention || row_.qkv_bias);
    shape_.out_bias = attention && row_.out_bias;
    shape_.mlp_bias = fact("mlp_bias", everywhere);
    shape_.gated = fact("gated_mlp", row_.gated);
    shape_.layer_norm = norm_is_layer_norm();
    shape_.plain_norms = row_.plain_norms;
    shape_.norms_before = row_.norms_before;
    shape_.norms_after = row_.norms_after;
    shape_.final_norm = fact("do_layer_norm_before", true);
    shape_.qk_norm = fact("qk_norm", fact("use_qk_norm", row_.qk_norm));
    shape_.wide_qk_norm = row_.wide_qk_norm;
    shape_.plain_qk_norm = row_.plain_qk_norm;
    shape_.output_gate = row_.output_gate;
    shape_.tied = config_.flag_anywhere("tie_word_embeddings").value_or(row_.tied);
    shape_.attention_dropout = dropout({"attn_pdrop", "attention_dropout"});
    shape_.hidden_dropout = dropout({"resid_pdrop", "hidden_dropout", "dropout"});
  }

  bool norm_is_layer_norm() const {
    const auto norm = config_.word("norm");
    if (!norm) return row_.layer_norm;
    if (*norm == "layernorm" || *norm == "rmsnorm") return *norm == "layernorm";
    throw InputError(config_.place("norm"), "it must be \"rmsnorm\" or \"layernorm\"");
  }

  double dropout(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      if (const auto rate = config_.rate(name, 1)) return *rate;
    }
    return row_.dropout;
  }

  void read_heads() {
    shape_.kv_heads = config_.number(kv_heads).value_or(shape_.heads);
    if (std::fmod(shape_.heads, shape_.kv_heads) != 0) {
      throw InputError(config_.place("num_key_value_heads"),
                       fmt::format("{} heads of keys do not divide {} heads of queries",
                                   shape_.kv_heads, shape_.heads));
    }
    const double width = config_.number(head_dim).value_or(row_.head_dim);
    shape_.head_dim = width == 0 ? shape_.hidden / shape_.heads : width;
    if (std::floor(shape_.head_dim) == shape_.head_dim) return;
    throw InputError(config_.place("head_dim"),
                     fmt::format("it is missing, and a width of {} has no {} heads of a whole "
                                 "width; state head_dim",
                                 shape_.hidden, shape_.heads));
  }

  void read_latent() {
    shape_.latent = LatentShape{.q_lora_rank = config_.number(q_lora_rank).value_or(0),
                                .kv_lora_rank = config_.needed(kv_lora_rank),
                                .nope = config_.needed(nope),
                                .rope = config_.needed(rope),
                                .value = config_.needed(value)};
    read_hf_indexer(config_, shape_);
  }

  void read_experts() {
    const double count = config_.number(experts).value_or(0);
    if (count == 0 || (count == 1 && !config_.number(chosen))) return;  // an MLP
    const HfField width{{row_.expert_width}, "the width of an expert", Limit::width};
    ExpertShape shape{
        .experts = count, .chosen = config_.needed(chosen), .intermediate = config_.needed(width)};
    if (shape.chosen > count) {
      throw InputError(config_.place("num_experts_per_tok"),
                       fmt::format("{} experts cannot be chosen out of {}", shape.chosen, count));
    }
    const double shared = config_.number(shared_experts).value_or(row_.shared_experts);
    shape.shared_intermediate = config_.number(shared_width).value_or(shared * shape.intermediate);
    shape.shared_gate =
        shape.shared_intermediate > 0 && fact("shared_expert_gate", row_.shared_gate);
    shape.bias = row_.expert_bias;
    shape.latent = config_.number(expert_latent).value_or(0);
    shape_.experts = shape;
    read_layers_with_experts();
  }

  /// Layers have experts unless a rule of the config excludes them. A list overrides the other
  /// rules.
  void read_layers_with_experts() {
    if (auto flags = config_.layer_flags("moe_layer_freq", shape_.layers)) {
      shape_.has_experts = *std::move(flags);
      return;
    }
    if (const auto types = config_.layer_words("mlp_layer_types", shape_.layers)) {
      for (const std::string& type : *types) shape_.has_experts.push_back(type == "sparse");
      return;
    }
    const double from = config_.number(dense_first).value_or(row_.dense_first);
    const double step = config_.number(every).value_or(1);
    const double last = config_.number(every_last).value_or(1);
    for (double layer = 0; layer < shape_.layers; ++layer) {
      shape_.has_experts.push_back(layer >= from && std::fmod(layer, step) == 0 &&
                                   std::fmod(layer + 1, last) == 0);
    }
    for (std::size_t dense : listed("mlp_only_layers")) shape_.has_experts[dense] = false;
    const auto given = config_.layer_list("moe_layers", shape_.layers);
    if (!given) return;
    std::fill(shape_.has_experts.begin(), shape_.has_experts.end(), false);
    for (std::size_t layer : *given) shape_.has_experts[layer] = true;
  }

  std::vector<std::size_t> listed(const char* name) const {
    return config_.layer_list(name, shape_.layers).value_or(std::vector<std::size_t>{});
  }

  bool some_layer_has_mlp() const {
    for (std::size_t layer = 0; layer < static_cast<std::size_t>(shape_.layers); ++layer) {
      const bool network = shape_.has_network.empty() || shape_.has_network[layer];
      const bool routed =
          shape_.experts && (shape_.has_experts.empty() || shape_.has_experts[layer]);
      if (network && !routed) return true;
    }
    return false;
  }

  /// The MLP width of layers without experts.
  void read_width() {
    if (!some_layer_has_mlp()) return;
    const HfField width{
        {row_.dense_width, "intermediate_size"}, "the width of the MLP", Limit::width};
    // Only GPT-2 may leave out the width.
    shape_.intermediate = row_.dense_width == "n_inner"
                              ? config_.number(width).value_or(4 * shape_.hidden)
                              : config_.needed(width);
  }

  void read_windows() {
    const double tokens = config_.number(window).value_or(0);
    if (tokens == 0 || row_.window == WindowRule::never) return;
    if (!fact("use_sliding_window", true)) return;
    const auto types = config_.layer_words("layer_types", shape_.layers);
    for (std::size_t layer = 0; layer < static_cast<std::size_t>(shape_.layers); ++layer) {
      const bool slides = types ? (*types)[layer] == "sliding_attention"
                                : slides_by_rule(static_cast<double>(layer));
      shape_.window.push_back(slides ? tokens : 0);
    }
  }

  bool slides_by_rule(double layer) const {
    constexpr double usual_period = 6, usual_rope_period = 4;
    const auto is_last_of = [&](double several) { return std::fmod(layer + 1, several) == 0; };
    switch (row_.window) {
      case WindowRule::last:
        return layer >= config_.number(window_layers).value_or(0);
      case WindowRule::alternate:
        return std::fmod(layer, 2) == 0 &&
               layer < config_.number(window_layers).value_or(shape_.layers);
      case WindowRule::pattern:
        return !is_last_of(config_.number(period).value_or(usual_period));
      case WindowRule::without_rope:
        if (const auto positioned = config_.layer_flags("no_rope_layers", shape_.layers)) {
          return !(*positioned)[static_cast<std::size_t>(layer)];
        }
        return is_last_of(config_.number(rope_period).value_or(usual_rope_period));
      default:
        return true;
    }
  }

  const HfFields& config_;
  const HfArchitecture& row_;
  TransformerShape shape_;
};

/// "bf16" for "bfloat16"; nothing for formats that training does not compute in.
std::optional<std::string> dtype_of(const HfFields& config) {
  for (const char* name : {"torch_dtype", "dtype"}) {
    const std::string dtype = config.word_anywhere(name).value_or("");
    if (dtype == "bfloat16") return "bf16";
    if (dtype == "float16") return "fp16";
    if (dtype == "float32") return "fp32";
  }
  return std::nullopt;
}

std::vector<std::string> notes_on(const HfFields& config, const HfArchitecture& row) {
  std::vector<std::string> notes;
  if (!row.attention_free) notes.emplace_back("attention is assumed causal and fused (flash)");
  if (row.latent && config.flag("attention_bias").value_or(false)) {
    notes.emplace_back("biases of latent attention are left out");
  }
  if (row.name == "gpt_oss") {
    notes.emplace_back("attention sinks (one number per head) are left out");
  }
  if (!config.flag("layer_norm_elementwise_affine").value_or(true)) {
    notes.emplace_back("norms are counted with weights and biases, which this model lacks");
  }
  if (row.vision == VisionRule::none && config.part("vision_config")) {
    notes.emplace_back("the encoder of \"vision_config\" is left out");
  }
  if (row.mixer == MixerRule::pattern && config.number(further).value_or(0) > 0) {
    notes.emplace_back("the layers of multi-token prediction are left out");
  }
  if (row.mixer == MixerRule::parallel) {
    notes.emplace_back("Mamba-2 and attention of a layer are counted one after the other");
  }
  if (row.name == "llama4_text") {
    notes.emplace_back("chunked attention is treated as attention to the whole sequence");
  }
  return notes;
}

bool recognizes(std::string_view text) {
  return has_sign(text, true,
                  {R"("model_type")", R"("hf_model_type")", R"("architectures")",
                   R"("num_hidden_layers")", R"("n_embd")"});
}

ModelFile read_model(std::string_view text, const ModelFileOptions& options) {
  const nlohmann::json document = parse_json(without_infinity(text));
  HfFields config(document);
  const HfArchitecture& row = architecture_of(config, options);
  const nlohmann::json defaults = nlohmann::json::parse(row.defaults);
  config.set_defaults(defaults);
  TransformerShape shape = Reader(config, row).read();
  shape.vision = read_hf_vision(config, row.vision, shape.hidden, options.image_tokens);
  ModelFile file;
  file.architecture = row.name;
  file.spec = transformer_spec(shape);
  file.reads_pictures = shape.vision.has_value();
  file.details = hf_details(document);
  file.max_sequence = config.number(positions);
  file.command.dtype = dtype_of(config);
  file.notes = notes_on(config, row);
  return file;
}

}  // namespace

constinit extern const FormatEntry hf_config_entry{
    "hf-config", ".json", "a transformer as the config.json of Hugging Face states it; read",
    recognizes, read_model};

}  // namespace penstock::hf_config_file
