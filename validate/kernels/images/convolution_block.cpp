#include "validate/kernels/images/convolution_block.hpp"

#include <utility>

#include "validate/kernels/steps/matrix.hpp"

namespace penstock {
namespace {

enum Keeps : std::size_t { images, normed, scales, out_gradient, norm_gradients };

const double* column_of(const Tensor& all, std::size_t image) {
  return &all.values[image * all.rows];
}
double* column_of(Tensor& all, std::size_t image) { return &all.values[image * all.rows]; }

}  // namespace

ConvolutionBlock::ConvolutionBlock(const LayerNumbers& numbers)
    : sizes(convolution_sizes(numbers)),
      relu(numbers.is("relu")),
      after(after_convolution(numbers)) {}

ConvolutionBlock::ConvolutionBlock(const ConvolutionSizes& of)
    : sizes(of), after({.bias = false, .batch_norm = true}) {}

std::vector<WeightSpec> ConvolutionBlock::weights() const {
  std::vector<WeightSpec> specs{
      {sizes.window(), sizes.channels_out, spread_of_sum(sizes.window())}};
  after.add_weights(sizes.channels_out, specs);
  return specs;
}

Tensor ConvolutionBlock::forward(std::span<const Tensor> weights, Tensor in,
                                 std::span<Tensor> kept) const {
  if (relu) penstock::relu(in);
  Tensor out(sizes.rows_out(), in.columns);
  for (std::size_t image = 0; image < in.columns; ++image) {
    convolve(sizes, weights.front().values.data(), column_of(in, image), column_of(out, image));
  }
  NormState norm_state = apply_bias_and_norm(after, weights.subspan(1), out);
  kept[images] = std::move(in);
  kept[normed] = std::move(norm_state.normed);
  kept[scales] = std::move(norm_state.scales);
  return out;
}

Tensor ConvolutionBlock::input_gradient(std::span<const Tensor> weights, Tensor gradient,
                                        std::span<Tensor> kept) const {
  const NormState norm_state{std::exchange(kept[normed], {}), std::exchange(kept[scales], {})};
  Tensors sums = bias_and_norm_gradient(after, weights.subspan(1), norm_state, gradient);
  Tensor before(sizes.rows_in(), gradient.columns);
  for (std::size_t image = 0; image < gradient.columns; ++image) {
    convolve_image_gradient(sizes, weights.front().values.data(), column_of(gradient, image),
                            column_of(before, image));
  }
  if (relu) relu_gradient(kept[images], before);
  kept[out_gradient] = std::move(gradient);
  for (std::size_t i = 0; i < sums.size(); ++i) kept[norm_gradients + i] = std::move(sums[i]);
  return before;
}

void ConvolutionBlock::weight_gradient(std::span<const Tensor> kept, std::span<Tensor> sums) const {
  for (std::size_t image = 0; image < kept[images].columns; ++image) {
    convolve_weight_gradient(sizes, column_of(kept[images], image),
                             column_of(kept[out_gradient], image), sums.front().values.data());
  }
  for (std::size_t i = 1; i < 1 + after.weights(); ++i) {
    matrix(sums[i]) += matrix(kept[norm_gradients + i - 1]);
  }
}

}  // namespace penstock
