#pragma once

#include <span>
#include <vector>

#include "validate/kernels/images/convolution_steps.hpp"

namespace penstock {

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
