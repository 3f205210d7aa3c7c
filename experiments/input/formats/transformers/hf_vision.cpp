#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

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
  static const auto qwen2_5 = nlohmann::json::parse(
      R"({"depth": 32, "hidden_size": 3584, "intermediate_size": 3420, "num_heads": 16,
          "in_channels": 3, "patch_size": 14, "temporal_patch_size": 2, "spatial_merge_size": 2,
          "window_size": 112})");
  static const auto qwen3 = nlohmann::json::parse(
      R"({"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16,
          "in_channels": 3, "patch_size": 16, "temporal_patch_size": 2, "spatial_merge_size": 2,
          "num_position_embeddings": 2304})");
  return rule == VisionRule::qwen3 ? qwen3 : qwen2_5;
}

/// A square picture of 768 pixels a side where the encoder has no learned positions.
double tokens_of_a_picture(double patch, double positions, double side) {
  constexpr double pixels = 768;
  const double of_side = std::floor(pixels / patch);
  return std::floor((positions > 0 ? positions : of_side * of_side) / (side * side));
}

/// Which layers keep attention to windows: all but every eighth, unless a list says which.
std::vector<bool> layers_with_windows(const HfFields& vision, double layers) {
  const auto whole = vision.layer_list("fullatt_block_indexes", layers);
  std::vector<bool> has_window(static_cast<std::size_t>(layers), true);
  for (std::size_t layer = 7; layer < has_window.size() && !whole; layer += 8) {
    has_window[layer] = false;
  }
  for (const std::size_t layer : whole.value_or(std::vector<std::size_t>{})) {
    has_window[layer] = false;
  }
  return has_window;
}

BlockSpec vision_part(std::string name, LayerSpec layer) {
  return {.name = std::move(name),
          .parts = {std::move(layer)},
          .cut_evenly = false,
          .module = "vision"};
}

}  // namespace

std::optional<VisionShape> read_hf_vision(const HfFields& config, VisionRule rule, double width,
                                          std::optional<double> tokens) {
  auto vision = config.part("vision_config");
  if (!vision || rule == VisionRule::none) return std::nullopt;
  vision->set_defaults(defaults_of(rule));
  const bool gated = rule == VisionRule::qwen2_5;  // and RMSNorm, which has no bias
  const double layers = vision->needed(vision_layers), hidden = vision->needed(vision_hidden);
  LayerSpec block{"vision_block",
                  {{"hidden", hidden},
                   {"heads", vision->needed(vision_heads)},
                   {"intermediate", vision->needed(vision_intermediate)},
                   {"gated", gated},
                   {"norm_bias", !gated}}};
  LayerSpec patches{"patches",
                    {{"hidden", hidden},
                     {"channels", vision->needed(vision_channels)},
                     {"patch", vision->needed(vision_patch)},
                     {"frames", vision->needed(vision_frames)},
                     {"bias", !gated}}};
  const double patch = patches.numbers["patch"], side = vision->needed(vision_side);
  const double positions = vision->number(vision_positions).value_or(0);
  patches.numbers["positions"] = positions;
  VisionShape shape{.blocks = {},
                    .tokens = tokens.value_or(tokens_of_a_picture(patch, positions, side)),
                    .deep = vision->length("deepstack_visual_indexes").value_or(0)};
  LayerSpec merger{"merger",
                   {{"hidden", hidden},
                    {"side", side},
                    {"out", width},
                    {"deep", shape.deep},
                    {"norm_bias", !gated}}};
  std::vector<bool> has_window;
  double window = 0;  // patches of a side, of whole tokens
  if (gated) {
    window = std::floor(vision->needed(vision_window) / (patch * side)) * side;
    has_window = layers_with_windows(*vision, layers);
  }
  if (shape.tokens == 0) return shape;
  for (LayerSpec* layer : {&patches, &block, &merger}) {
    layer->numbers["tokens"] = shape.tokens * side * side;
  }
  shape.blocks.push_back(vision_part("patches", std::move(patches)));
  for (std::size_t number = 0; number < static_cast<std::size_t>(layers); ++number) {
    LayerSpec layer = block;
    if (!has_window.empty() && has_window[number]) layer.numbers["window"] = window * window;
    shape.blocks.push_back(vision_part(fmt::format("vision {}", number), std::move(layer)));
  }
  shape.blocks.push_back(vision_part("merger", std::move(merger)));
  return shape;
}

}  // namespace penstock
