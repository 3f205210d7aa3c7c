#pragma once

#include <vector>

#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

/// The shape of an encoder of images before the first layer of a decoder.
struct VisionShape {
  double layers = 0;
  double hidden = 0;
  double heads = 0;
  double intermediate = 0;
  double channels = 3;
  double patch = 0;              // pixels of a side
  double frames = 1;             // pictures of a patch
  double positions = 0;          // learned positions of patches
  double side = 1;               // patches of a side that become one token
  double out = 0;                // width of the decoder
  double deep = 0;               // further mergers, of the outputs of inner layers
  bool rms_norm = false;         // norms without biases
  bool gated = false;            // the MLP
  double tokens = 0;             // of the decoder that the images of an example become
  double window = 0;             // patches of a window
  std::vector<bool> has_window;  // attention of a layer keeps to windows; empty: none does

  double patches() const { return tokens * side * side; }
};

/// Blocks "patches", "vision 0" … and "merger". They run for the patches of an example.
std::vector<BlockSpec> vision_blocks(const VisionShape& shape);

}  // namespace penstock
