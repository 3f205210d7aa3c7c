#pragma once

#include <vector>

#include "validate/kernels/steps/layer_run.hpp"

namespace penstock {

/// The sizes of a convolution. Edges are padded with zeros so that each place that goes on has one
/// in the middle of its kernel: of a stride of n every n-th place, the first included.
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
  /// Numbers under the kernel of one channel that goes on.
  std::size_t window() const { return channels_in / groups * kernel * kernel; }
  std::size_t weights() const { return window() * channels_out; }
};

/// One image through a convolution. Weights are a column of `window()` numbers for each channel
/// that goes on.
void convolve(const ConvolutionSizes& sizes, const double* weights, const double* image,
              double* out);
/// Adds to the gradient of the image that came in.
void convolve_image_gradient(const ConvolutionSizes& sizes, const double* weights,
                             const double* gradient, double* image_gradient);
/// Adds to the gradient of the weights.
void convolve_weight_gradient(const ConvolutionSizes& sizes, const double* image,
                              const double* gradient, double* weight_gradient);

// What stands around a convolution: a ReLU in front, a bias and a batch norm behind. The norm takes
// its means and variances over the images of a cell.

void relu(Tensor& images);
/// Lets gradients through where something came through the ReLU.
void relu_gradient(const Tensor& images, Tensor& gradient);

/// The weights that stand behind those of the convolution: bias, gain and shift, each if it is
/// there.
void add_weights_behind(const LayerNumbers& numbers, std::vector<WeightSpec>& specs);

/// What the norm keeps; nothing where there is none.
struct Behind {
  Tensor normed;
  Tensor scales;  // by channel
};

/// Bias and norm, whose weights stand from `first` on.
Behind apply_behind(const LayerRun& run, std::size_t first, Tensor& out);
/// The gradient in front of bias and norm, in place; returns those of their weights, in the same
/// order.
Tensors behind_gradient(const LayerRun& run, std::size_t first, const Behind& kept,
                        Tensor& gradient);

}  // namespace penstock
