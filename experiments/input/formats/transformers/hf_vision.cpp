#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/input/formats/transformers/hf_parts.hpp"
#include "experiments/input/formats/transformers/transformer_shape.hpp"

namespace penstock {
namespace {

using VisionLimit = TransformerLimits;

constexpr HfField vision_layers{
    {"depth", "num_hidden_layers"}, "the layers of the encoder", VisionLimit::layers};
constexpr HfField vision_hidden{
    {"hidden_size", "embed_dim"}, "the width of the encoder", VisionLimit::width};
constexpr HfField vision_heads{
    {"num_heads", "num_attention_heads"}, "its heads", VisionLimit::heads};
constexpr HfField vision_intermediate{
    {"intermediate_size"}, "the width of its MLP", VisionLimit::width};
constexpr HfField vision_channels{
    {"in_channels", "in_chans", "num_channels"}, "the colours", VisionLimit::width};
constexpr HfField vision_patch{
    {"patch_size", "spatial_patch_size"}, "the pixels of a side of a patch", VisionLimit::width};
constexpr HfField vision_frames{
    {"temporal_patch_size"}, "the pictures of a patch", VisionLimit::width};
constexpr HfField vision_side{
    {"spatial_merge_size"}, "the patches of a side that become one token", VisionLimit::width};
constexpr HfField vision_window{
    {"window_size"}, "the pixels of a side of a window", VisionLimit::positions};
constexpr HfField vision_positions{
    {"num_position_embeddings"}, "the learned positions of patches", VisionLimit::positions, 0};

/// What the configuration classes of Hugging Face Transformers have for fields that a config leaves
/// out.
const nlohmann::json& defaults_of(VisionRule rule) {
  static const nlohmann::json qwen2_5 = {{"depth", 32},
                                         {"hidden_size", 3584},
                                         {"intermediate_size", 3420},
                                         {"num_heads", 16},
                                         {"in_channels", 3},
                                         {"patch_size", 14},
                                         {"temporal_patch_size", 2},
                                         {"spatial_merge_size", 2},
                                         {"window_size", 112},
                                         {"out_hidden_size", 3584}};
  static const nlohmann::json qwen3 = {{"depth", 27},
                                       {"hidden_size", 1152},
                                       {"intermediate_size", 4304},
                                       {"num_heads", 16},
                                       {"in_channels", 3},
                                       {"patch_size", 16},
                                       {"temporal_patch_size", 2},
                                       {"spatial_merge_size", 2},
                                       {"out_hidden_size", 3584},
                                       {"num_position_embeddings", 2304}};
  return rule == VisionRule::qwen3 ? qwen3 : qwen2_5;
}

/// A square picture of 768 pixels a side where the encoder has no learned positions.
double tokens_of_a_picture(const VisionShape& shape) {
  constexpr double pixels = 768;
  const double of_side = std::floor(pixels / shape.patch);
  const double patches = shape.positions > 0 ? shape.positions : of_side * of_side;
  return std::floor(patches / (shape.side * shape.side));
}

/// Windows of whole tokens. Every eighth layer has none, unless a list says which.
void read_windows(const HfFields& vision, VisionShape& shape) {
  const double side =
      std::floor(vision.needed(vision_window) / (shape.patch * shape.side)) * shape.side;
  shape.window = side * side;
  const auto whole = vision.layer_list("fullatt_block_indexes", shape.layers);
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(shape.layers); ++layer) {
    shape.has_window.push_back(!whole && layer % 8 != 7);
  }
  if (!whole) return;
  std::fill(shape.has_window.begin(), shape.has_window.end(), true);
  for (const std::size_t layer : *whole) shape.has_window[layer] = false;
}

}  // namespace

std::optional<VisionShape> read_hf_vision(const HfFields& config, VisionRule rule, double width,
                                          std::optional<double> tokens) {
  auto vision = config.part("vision_config");
  if (!vision || rule == VisionRule::none) return std::nullopt;
  vision->set_defaults(defaults_of(rule));
  VisionShape shape;
  shape.layers = vision->needed(vision_layers);
  shape.hidden = vision->needed(vision_hidden);
  shape.heads = vision->needed(vision_heads);
  shape.intermediate = vision->needed(vision_intermediate);
  shape.channels = vision->needed(vision_channels);
  shape.patch = vision->needed(vision_patch);
  shape.frames = vision->needed(vision_frames);
  shape.side = vision->needed(vision_side);
  shape.out = width;
  shape.positions = vision->number(vision_positions).value_or(0);
  shape.rms_norm = shape.gated = rule == VisionRule::qwen2_5;
  shape.deep = vision->length("deepstack_visual_indexes").value_or(0);
  if (rule == VisionRule::qwen2_5) read_windows(*vision, shape);
  shape.tokens = tokens.value_or(tokens_of_a_picture(shape));
  return shape;
}

}  // namespace penstock
