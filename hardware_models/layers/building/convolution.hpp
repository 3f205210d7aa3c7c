#pragma once

#include "hardware_models/layers/building/layer_work.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

/// A convolution of images, perhaps with what often stands around it: ReLU, convolution, batch
/// norm. Edges are padded: a stride of n leaves every n-th place, the first included.
struct Convolution {
  double examples = 1;
  double channels_in = 1;
  double channels_out = 1;
  double height = 1;  // of what comes in
  double width = 1;
  double kernel_height = 1;
  double kernel_width = 1;
  double stride = 1;
  double groups = 1;
  bool relu = false;
  bool batch_norm = false;
  bool bias = false;
  /// Each example has weights of its own. They are made elsewhere, where their gradients are needed
  /// for more than W: both gradients are taken in I.
  bool weights_by_example = false;

  double weights() const;
  double numbers_in() const;  // of all examples
  double numbers_out() const;
};

/// How long a side of an image is after a stride.
double strided(double side, double stride);

/// The examples of a cell. Throws InputError where a sequence would be cut, which images have not.
double images_of(const CellShape& shape);

/// Adds parameters, FLOPs, kernels and what is kept: the input of the convolution and that of the
/// norm. A tensor group shares the channels that come out, and gathers them.
void add_convolution(LayerWork& work, const Convolution& convolution, const CellShape& shape);

}  // namespace penstock
