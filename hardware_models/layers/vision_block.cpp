#include <array>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/layers/registry.hpp"

namespace penstock::vision_block_file {
namespace {

constexpr std::array parameters{Parameter{"hidden", "width of a patch's vector", std::nullopt},
                                Parameter{"heads", "attention heads", std::nullopt},
                                Parameter{"intermediate", "size of the MLP", std::nullopt},
                                flag("gated", "1: gated MLP, as in SwiGLU", 0),
                                flag("norm_bias", "1: LayerNorm; 0: RMSNorm", 1),
                                Parameter{"window", "patches of a window; 0: all", 0, 0},
                                patches_of_layer};

/// A block of a transformer with biases whose patches all attend to each other, or to those of
/// their window.
LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const double hidden = numbers["hidden"];
  const LayerSpec norm{"norm", {{"hidden", hidden}, {"bias", numbers["norm_bias"]}}};
  const LayerSpec attention{"attention",
                            {{"hidden", hidden},
                             {"heads", numbers["heads"]},
                             {"causal", 0},
                             {"window", numbers["window"]},
                             {"qkv_bias", 1},
                             {"out_bias", 1}}};
  const LayerSpec network{"mlp",
                          {{"hidden", hidden},
                           {"intermediate", numbers["intermediate"]},
                           {"gated", numbers["gated"]},
                           {"bias", 1}}};
  LayerWork block = work_of(norm, shape);
  for (const LayerSpec* part : {&attention, &norm, &network}) append(block, work_of(*part, shape));
  return block;
}

}  // namespace

constinit extern const LayerKindEntry vision_block_entry{
    "vision_block", "a block of an encoder of pictures: norms, attention, MLP", parameters, work};

}  // namespace penstock::vision_block_file
