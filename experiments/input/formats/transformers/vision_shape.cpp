#include "experiments/input/formats/transformers/vision_shape.hpp"

#include <fmt/format.h>

#include <utility>

namespace penstock {
namespace {

BlockSpec vision_part(std::string name, std::vector<LayerSpec> parts) {
  return {
      .name = std::move(name), .parts = std::move(parts), .cut_evenly = false, .module = "vision"};
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

BlockSpec vision_block(const VisionShape& shape, std::size_t number) {
  LayerSpec block{"vision_block",
                  {{"hidden", shape.hidden},
                   {"heads", shape.heads},
                   {"intermediate", shape.intermediate},
                   {"gated", shape.gated},
                   {"norm_bias", !shape.rms_norm},
                   {"tokens", shape.patches()}},
                  ""};
  if (!shape.has_window.empty() && shape.has_window[number]) block.numbers["window"] = shape.window;
  return vision_part(fmt::format("vision {}", number), {std::move(block)});
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
  for (std::size_t number = 0; number < static_cast<std::size_t>(shape.layers); ++number) {
    blocks.push_back(vision_block(shape, number));
  }
  blocks.push_back(vision_merger(shape));
  return blocks;
}

}  // namespace penstock
