#pragma once

#include <span>
#include <vector>

#include "validate/kernels/steps/layer_run.hpp"

namespace penstock {

/// The sizes of a convolution. Edges are padded with zeros, kernels are centred; a stride of n
/// keeps every n-th point, starting with the first.
struct ConvolutionSizes {
  std::size_t channels_in = 1;
  std::size_t channels_out = 1;
  std::size_t height = 1;
  std::size_t width = 1;
  std::size_t kernel_height = 1;
  std::size_t kernel_width = 1;
  std::size_t stride = 1;
  std::size_t groups = 1;

  std::size_t height_out() const { return (height + stride - 1) / stride; }
  std::size_t width_out() const { return (width + stride - 1) / stride; }
  std::size_t places_in() const { return height * width; }
  std::size_t places_out() const { return height_out() * width_out(); }
  std::size_t rows_in() const { return channels_in * places_in(); }
  std::size_t rows_out() const { return channels_out * places_out(); }
  /// Values under the kernel of one output channel.
  std::size_t window() const { return channels_in / groups * kernel_height * kernel_width; }
  std::size_t weights() const { return window() * channels_out; }
};

ConvolutionSizes convolution_sizes(const LayerNumbers& numbers);

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

/// What follows a convolution; its weights are a bias, a gain and a shift, if present.
struct AfterConvolution {
  bool bias = false;
  bool batch_norm = false;

  std::size_t weights() const { return (bias ? 1 : 0) + (batch_norm ? 2 : 0); }
  void add_weights(std::size_t channels, std::vector<WeightSpec>& specs) const;
};
AfterConvolution after_convolution(const LayerNumbers& numbers);

/// What the norm keeps; nothing without a norm.
struct NormState {
  Tensor normed;
  Tensor scales;  // by channel
};

/// Bias and norm, in place.
NormState apply_bias_and_norm(const AfterConvolution& after, std::span<const Tensor> weights,
                              Tensor& out);
/// The gradient before bias and norm, in place; returns the gradients of their weights, in the same
/// order.
Tensors bias_and_norm_gradient(const AfterConvolution& after, std::span<const Tensor> weights,
                               const NormState& kept, Tensor& gradient);

/// A ReLU, a convolution, a bias and a batch norm, in this order; all but the convolution may be
/// missing. Its weights are those of the convolution, then the bias, the gain and the shift.
struct ConvolutionBlock {
  explicit ConvolutionBlock(const LayerNumbers& numbers);
  /// With ReLU and batch norm.
  explicit ConvolutionBlock(const ConvolutionSizes& of);

  ConvolutionSizes sizes;
  bool relu = true;
  AfterConvolution after;

  std::vector<WeightSpec> weights() const;

  /// Of all images. The other functions use what it kept.
  Tensor forward(std::span<const Tensor> weights, Tensor in, std::span<Tensor> kept) const;
  Tensor input_gradient(std::span<const Tensor> weights, Tensor gradient,
                        std::span<Tensor> kept) const;
  void weight_gradient(std::span<const Tensor> kept, std::span<Tensor> sums) const;

  /// The number of tensors it keeps; some are empty.
  static constexpr std::size_t kept_tensors = 7;
};

}  // namespace penstock
