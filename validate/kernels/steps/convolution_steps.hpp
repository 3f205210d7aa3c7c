#pragma once

#include <vector>

#include "validate/kernels/steps/layer_run.hpp"

namespace penstock {

/// The sizes of a convolution. Edges are padded with zeros, kernels are centred; a stride of n
/// keeps every n-th point, starting with the first.
struct ConvolutionSizes {
  explicit ConvolutionSizes(const LayerNumbers& numbers);

  std::size_t channels_in;
  std::size_t channels_out;
  std::size_t height;
  std::size_t width;
  std::size_t kernel;
  std::size_t stride;
  std::size_t groups;

  std::size_t height_out() const { return (height + stride - 1) / stride; }
  std::size_t width_out() const { return (width + stride - 1) / stride; }
  std::size_t places_in() const { return height * width; }
  std::size_t places_out() const { return height_out() * width_out(); }
  std::size_t rows_in() const { return channels_in * places_in(); }
  std::size_t rows_out() const { return channels_out * places_out(); }
  /// Values under the kernel of one output channel.
  std::size_t window() const { return channels_in / groups * kernel * kernel; }
  std::size_t weights() const { return window() * channels_out; }
};

/// Convolves one image. Weights are a column of `window()` values per output channel.
void convolve(const ConvolutionSizes& sizes, const double* weights, const double* image,
              double* out);
/// Adds to the gradient of the input image.
void convolve_image_gradient(const ConvolutionSizes& sizes, const double* weights,
                             const double* gradient, double* image_gradient);
/// Adds to the gradient of the weights.
void convolve_weight_gradient(const ConvolutionSizes& sizes, const double* image,
                              const double* gradient, double* weight_gradient);

// Around a convolution: a ReLU before it, a bias and a batch norm after it. The norm takes mean and
// variance over the images of a cell.

void relu(Tensor& images);
/// Zeroes gradients where the ReLU was inactive.
void relu_gradient(const Tensor& images, Tensor& gradient);

/// The weights after those of the convolution: bias, gain and shift, if present.
void add_bias_and_norm_weights(const LayerNumbers& numbers, std::vector<WeightSpec>& specs);

/// What the norm keeps; nothing without a norm.
struct NormState {
  Tensor normed;
  Tensor scales;  // by channel
};

/// Bias and norm, with weights from index `first` on.
NormState apply_bias_and_norm(const LayerRun& run, std::size_t first, Tensor& out);
/// The gradient before bias and norm, in place; returns the gradients of their weights, in the same
/// order.
Tensors bias_and_norm_gradient(const LayerRun& run, std::size_t first, const NormState& kept,
                               Tensor& gradient);

}  // namespace penstock
