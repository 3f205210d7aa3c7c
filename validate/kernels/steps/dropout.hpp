#pragma once

#include <cstdint>

#include "validate/kernels/steps/layer_run.hpp"

namespace penstock {

/// Dropout in a layer: zeroes values with a probability and divides the others by the rest. Which
/// ones follows from seed, microbatch, layer and place: a gradient goes the same way as its values,
/// and slices have what their sequence has.
struct Dropout {
  double probability = 0;
  std::uint32_t layer = 0;

  /// The factor of a value: 0, or one above 1. `place` is that in its whole microbatch, among those
  /// of the same `part` of the layer.
  double factor(const KernelCell& cell, std::uint32_t part, std::uint64_t place) const;
};

/// As the layer states it.
Dropout dropout_of(const LayerRun& run);

/// Multiplies the outputs of a layer, or their gradient, in columns of tokens.
void drop_out(const LayerRun& run, Tensor& columns);

}  // namespace penstock
