#pragma once

#include "hardware_models/layers/building/layer_work.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

/// Two dense layers with an activation between them, or several such networks that share tokens, on
/// one device.
struct FeedForward {
  double hidden = 1;
  double intermediate = 1;
  bool gated = false;  // the activation multiplies the two halves of the first layer's outputs
  double tokens = 0;
  double networks = 1;
};

/// The weights of one network.
double weights_of(const FeedForward& network);

/// Adds kernels and what is kept between the dense layers; no model FLOPs, no input.
void add_feed_forward(LayerWork& work, const FeedForward& network, const CellShape& shape);

}  // namespace penstock
