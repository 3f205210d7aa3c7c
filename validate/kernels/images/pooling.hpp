#pragma once

#include "validate/kernels/steps/layer_run.hpp"

namespace penstock {

/// Square windows over each channel of an image, one every `stride` places. What lies outside the
/// image does not count.
struct Pooling {
  std::size_t channels = 1;
  std::size_t height = 1;
  std::size_t width = 1;
  std::size_t window = 1;
  std::size_t stride = 1;
  std::size_t before = 0;  // rows and columns of a window in front of its place
  bool largest = true;     // the largest value of a window; otherwise the mean

  std::size_t height_out() const { return (height + stride - 1) / stride; }
  std::size_t width_out() const { return (width + stride - 1) / stride; }
  std::size_t rows_in() const { return channels * height * width; }
  std::size_t rows_out() const { return channels * height_out() * width_out(); }
};

/// Pools all images. `chosen` becomes the index of each largest value, where its gradient goes; of
/// means it stays empty.
Tensor pooled(const Pooling& pooling, const Tensor& images, Tensor& chosen);

/// The gradient of the images.
Tensor pooled_gradient(const Pooling& pooling, const Tensor& gradient, const Tensor& chosen);

}  // namespace penstock
