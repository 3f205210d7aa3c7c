#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/input/formats/transformers/hf_parts.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using MixerLimit = TransformerLimits;

constexpr HfField key_heads{
    {"linear_num_key_heads"}, "the heads of linear keys", MixerLimit::heads};
constexpr HfField value_heads{
    {"linear_num_value_heads"}, "the heads of linear values", MixerLimit::heads};
constexpr HfField key_dim{{"linear_key_head_dim"}, "the width of a linear key", MixerLimit::width};
constexpr HfField value_dim{
    {"linear_value_head_dim"}, "the width of a linear value", MixerLimit::width};
constexpr HfField linear_conv{
    {"linear_conv_kernel_dim"}, "the tokens that the convolution reaches", MixerLimit::width};
constexpr HfField interval{
    {"full_attention_interval"}, "of how many layers the last has attention", MixerLimit::layers};

constexpr HfField mamba_heads{
    {"mamba_n_heads", "mamba_num_heads", "num_heads"}, "the heads of Mamba-2", MixerLimit::heads};
constexpr HfField mamba_inner{{"mamba_d_ssm"}, "the width of Mamba-2", MixerLimit::width};
constexpr HfField mamba_expand{
    {"mamba_expand", "expand"}, "the width of Mamba-2, over hidden_size", MixerLimit::width};
constexpr HfField mamba_state{
    {"mamba_d_state", "ssm_state_size", "state_size"}, "the size of a state", MixerLimit::width};
constexpr HfField mamba_groups{
    {"mamba_n_groups", "n_groups"}, "the groups of heads", MixerLimit::heads};
constexpr HfField mamba_conv{
    {"mamba_d_conv", "conv_kernel"}, "the tokens that the convolution reaches", MixerLimit::width};
constexpr HfField mamba_chunk{
    {"mamba_chunk_size", "chunk_size"}, "the tokens of a chunk", MixerLimit::positions};

constexpr HfField index_heads{{"index_n_heads"}, "the heads of the indexer", MixerLimit::heads};
constexpr HfField index_dim{{"index_head_dim"}, "the width of such a head", MixerLimit::width};
constexpr HfField index_topk{
    {"index_topk"}, "the keys that a token attends to", MixerLimit::positions};
constexpr HfField index_every{
    {"index_topk_freq"}, "of how many layers one has an indexer", MixerLimit::layers};
constexpr HfField index_from{
    {"index_skip_topk_offset"}, "the first layers, which all have one", MixerLimit::layers, 0};

LayerSpec gated_delta(const HfFields& config, double hidden) {
  constexpr double usual_conv = 4;
  return {"gated_delta",
          {{"hidden", hidden},
           {"key_heads", config.needed(key_heads)},
           {"value_heads", config.needed(value_heads)},
           {"key_dim", config.needed(key_dim)},
           {"value_dim", config.needed(value_dim)},
           {"conv", config.number(linear_conv).value_or(usual_conv)}}};
}

/// Stated, or "auto": the width over the heads.
double mamba_head_dim(const HfFields& config, double hidden, double count) {
  for (const char* name : {"mamba_d_head", "mamba_head_dim"}) {
    const HfField field{{name}, "the width of a head of Mamba-2", MixerLimit::width};
    if (!config.is_word(name, "auto")) {
      if (const auto stated = config.number(field)) return *stated;
    }
  }
  const double width =
      config.number(mamba_inner).value_or(config.number(mamba_expand).value_or(2) * hidden);
  if (std::fmod(width, count) == 0) return width / count;
  throw InputError(config.place(mamba_heads.names[0]),
                   fmt::format("{} heads do not divide a width of {}", count, width));
}

LayerSpec mamba2(const HfFields& config, double hidden) {
  const auto flag = [&](const char* name) { return config.flag(name); };
  constexpr double usual_groups = 1, usual_conv = 4, usual_chunk = 256;
  const double count = config.needed(mamba_heads);
  const double width = mamba_head_dim(config, hidden, count);
  LayerSpec layer{"mamba2",
                  {{"hidden", hidden},
                   {"heads", count},
                   {"head_dim", width},
                   {"state", config.needed(mamba_state)},
                   {"groups", config.number(mamba_groups).value_or(usual_groups)},
                   {"conv", config.number(mamba_conv).value_or(usual_conv)},
                   {"chunk", config.number(mamba_chunk).value_or(usual_chunk)}}};
  layer.numbers["conv_bias"] =
      flag("mamba_conv_bias").value_or(flag("use_conv_bias").value_or(true));
  const bool in_bias = flag("use_bias").value_or(flag("mamba_proj_bias").value_or(false));
  layer.numbers["in_bias"] = in_bias;
  layer.numbers["out_bias"] = flag("projectors_bias").value_or(in_bias);
  layer.numbers["norm"] = flag("mamba_rms_norm").value_or(true);
  return layer;
}

bool is_attention(const std::string& word) { return word.find("attention") != std::string::npos; }

/// By layer, whether it has attention.
std::vector<bool> attention_layers(const HfFields& config, double layers) {
  std::vector<bool> all(static_cast<std::size_t>(layers));
  for (const char* name : {"layer_types", "layers_block_type"}) {
    const auto words = config.layer_words(name, layers);
    if (!words) continue;
    std::transform(words->begin(), words->end(), all.begin(), [](const std::string& word) {
      return is_attention(word) && !word.starts_with("linear");
    });
    return all;
  }
  for (const char* name : {"attn_layer_indices", "attention_layers"}) {
    const auto listed = config.layer_list(name, layers);
    if (!listed) continue;
    for (const std::size_t layer : *listed) all[layer] = true;
    return all;
  }
  const double every = config.number(interval).value_or(0);
  for (std::size_t layer = 0; layer < all.size() && every > 0; ++layer) {
    all[layer] = std::fmod(static_cast<double>(layer) + 1, every) == 0;
  }
  return all;
}

/// M: Mamba-2, *: attention, -: MLP, E: experts.
void read_pattern(const std::string& pattern, const HfFields& config, TransformerShape& shape) {
  shape.has_experts.clear();
  for (const char letter : pattern) {
    constexpr std::string_view known = "M*-E";
    if (known.find(letter) == std::string_view::npos) {
      throw InputError(
          config.place("hybrid_override_pattern"),
          fmt::format("\"{}\" is no layer; known: M (Mamba-2), * (attention), - (MLP), E (experts)",
                      letter));
    }
    shape.mixers.push_back(letter == 'M'   ? Mixer::state
                           : letter == '*' ? Mixer::attention
                                           : Mixer::none);
    shape.has_network.push_back(shape.mixers.back() == Mixer::none);
    shape.has_experts.push_back(letter == 'E');
  }
}

}  // namespace

std::optional<std::string> hf_layer_pattern(const HfFields& config) {
  if (auto pattern = config.word("hybrid_override_pattern")) {
    std::erase(*pattern, '|');  // where stages end
    return pattern;
  }
  const auto words = config.words("layers_block_type");
  if (!words) return std::nullopt;
  std::string pattern;
  for (const std::string& word : *words) {
    pattern += word == "moe"                                     ? 'E'
               : word == "mlp"                                   ? '-'
               : word == "mamba" || word == "linear_attention"   ? 'M'
               : word == "attention" || word == "full_attention" ? '*'
                                                                 : '?';
  }
  return pattern;
}

void read_hf_mixers(const HfFields& config, MixerRule rule, TransformerShape& shape) {
  if (rule == MixerRule::attention) return;
  shape.state = rule == MixerRule::gated_delta ? gated_delta(config, shape.hidden)
                                               : mamba2(config, shape.hidden);
  if (rule == MixerRule::pattern) return read_pattern(*hf_layer_pattern(config), config, shape);
  if (rule == MixerRule::parallel) {
    shape.mixers.assign(static_cast<std::size_t>(shape.layers), Mixer::state_and_attention);
    return;
  }
  for (const bool attends : attention_layers(config, shape.layers)) {
    shape.mixers.push_back(attends ? Mixer::attention : Mixer::state);
  }
}

void read_hf_indexer(const HfFields& config, TransformerShape& shape) {
  const auto chosen = config.number(index_topk);
  if (!chosen) return;
  shape.latent->chosen = *chosen;
  shape.latent->index_heads = config.needed(index_heads);
  shape.latent->index_dim = config.needed(index_dim);
  if (const auto types = config.layer_words("indexer_types", shape.layers)) {
    for (const std::string& type : *types) shape.has_indexer.push_back(type != "shared");
    return;
  }
  constexpr double usual_offset = 2;
  const double every = config.number(index_every).value_or(1);
  const double from = config.number(index_from).value_or(usual_offset);
  for (double layer = 0; layer < shape.layers && every > 1; ++layer) {
    shape.has_indexer.push_back(std::fmod(std::max(layer - from + 1, 0.0), every) == 0);
  }
}

}  // namespace penstock
