#include "experiments/input/formats/transformers/vision_shape.hpp"

#include <fmt/format.h>

#include <utility>

namespace penstock {
namespace {

LayerSpec vision_norm(const VisionShape& shape) {
  return {"norm",
          {{"hidden", shape.hidden}, {"bias", !shape.rms_norm}, {"tokens", shape.patches()}},
          ""};
}

BlockSpec vision_part(std::string name, std::vector<LayerSpec> parts) {
  return {.name = std::move(name), .parts = std::move(parts), .cut_evenly = false};
}

BlockSpec vision_patches(const VisionShape& shape) {
  return vision_part("patches", {{"patches",
                                  {{"hidden", shape.hidden},
                                   {"channels", shape.channels},
                                   {"patch", shape.patch},
                                   {"frames", shape.frames},
                                   {"bias", !shape.rms_norm},
                                   {"positions", shape.positions},
                                   {"tokens", shape.patches()}},
                                  ""}});
}

BlockSpec vision_block(const VisionShape& shape, double number) {
  const LayerSpec attention{"attention",
                            {{"hidden", shape.hidden},
                             {"heads", shape.heads},
                             {"causal", 0},
                             {"qkv_bias", 1},
                             {"out_bias", 1},
                             {"tokens", shape.patches()}},
                            ""};
  const LayerSpec network{"mlp",
                          {{"hidden", shape.hidden},
                           {"intermediate", shape.intermediate},
                           {"gated", shape.gated},
                           {"bias", 1},
                           {"tokens", shape.patches()}},
                          ""};
  return vision_part(fmt::format("vision {}", number),
                     {vision_norm(shape), attention, vision_norm(shape), network});
}

BlockSpec vision_merger(const VisionShape& shape) {
  return vision_part("merger", {{"merger",
                                 {{"hidden", shape.hidden},
                                  {"side", shape.side},
                                  {"out", shape.out},
                                  {"deep", shape.deep},
                                  {"norm_bias", !shape.rms_norm},
                                  {"tokens", shape.patches()}},
                                 ""}});
}

}  // namespace

std::vector<BlockSpec> vision_blocks(const VisionShape& shape) {
  std::vector<BlockSpec> blocks;
  if (shape.tokens == 0) return blocks;
  blocks.push_back(vision_patches(shape));
  for (double number = 0; number < shape.layers; ++number) {
    blocks.push_back(vision_block(shape, number));
  }
  blocks.push_back(vision_merger(shape));
  return blocks;
}

}  // namespace penstock
