#include "validate/kernels/images/convolution.hpp"
#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/layer_steps.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock::conditional_conv_kernel_file {
namespace {

enum Weight : std::size_t { kernels, routing, routing_bias, norm_weights };
// What F keeps. I replaces each example's kernel and the routing outputs by their gradients.
enum Keeps : std::size_t { images, means, shares, mixed, normed, scales, routed, norm_gradients };

std::size_t rows_in(const LayerNumbers& numbers) { return convolution_sizes(numbers).rows_in(); }
std::size_t rows_out(const LayerNumbers& numbers) { return convolution_sizes(numbers).rows_out(); }

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  const ConvolutionSizes sizes = convolution_sizes(numbers);
  const std::size_t count = size_of(numbers, "kernels");
  std::vector<WeightSpec> specs{{sizes.weights(), count, spread_of_sum(sizes.window())},
                                {count, sizes.channels_in, 1},
                                {count, 1, 0.5}};
  after_convolution(numbers).add_weights(sizes.channels_out, specs);
  return specs;
}

std::span<const Tensor> norm_weights_of(const LayerRun& run) {
  return std::span(run.weights).subspan(norm_weights);
}

/// Weighs and mixes the kernels of each example.
void mix(const LayerRun& run, Tensors& kept) {
  kept[shares] = dense(run.weights[routing], kept[means], &run.weights[routing_bias]);
  matrix(kept[shares]) = matrix(kept[shares]).unaryExpr(&sigmoid).eval();
  kept[mixed] = dense(run.weights[kernels], kept[shares]);
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  const ConvolutionSizes sizes = convolution_sizes(run.numbers);
  if (run.numbers.is("relu")) relu(in);
  kept.resize(routed);
  kept[means] = channel_means(in, sizes.channels_in);
  mix(run, kept);
  Tensor out(sizes.rows_out(), in.columns);
  for (std::size_t image = 0; image < in.columns; ++image) {
    convolve(sizes, column_of(kept[mixed], image), column_of(in, image), column_of(out, image));
  }
  NormState norm_state =
      apply_bias_and_norm(after_convolution(run.numbers), norm_weights_of(run), out);
  kept[images] = std::move(in);
  kept[normed] = std::move(norm_state.normed);
  kept[scales] = std::move(norm_state.scales);
  return out;
}

/// The input gradient of the convolutions; the gradient of each example's kernel replaces the
/// kernel.
Tensor through_convolutions(const ConvolutionSizes& sizes, const Tensor& gradient, Tensors& kept) {
  Tensor before(sizes.rows_in(), gradient.columns);
  Tensor own(sizes.weights(), gradient.columns);
  for (std::size_t image = 0; image < gradient.columns; ++image) {
    const double* const above = column_of(gradient, image);
    convolve_image_gradient(sizes, column_of(kept[mixed], image), above, column_of(before, image));
    convolve_weight_gradient(sizes, column_of(kept[images], image), above, column_of(own, image));
  }
  kept[mixed] = std::move(own);
  return before;
}

/// Adds the gradient through the routing.
void through_routing(const LayerRun& run, const ConvolutionSizes& sizes, Tensors& kept,
                     Tensor& before) {
  const auto weighed = matrix(kept[shares]).array();
  Tensor outputs = dense_back(run.weights[kernels], kept[mixed]);
  matrix(outputs).array() *= weighed * (1 - weighed);
  const Eigen::MatrixXd of_means = matrix(run.weights[routing]).transpose() * matrix(outputs) /
                                   static_cast<double>(sizes.places_in());
  const auto places = static_cast<Eigen::Index>(sizes.places_in());
  Matrix(before.values.data(), places, of_means.size()).rowwise() +=
      of_means.reshaped().transpose();
  kept.push_back(std::move(outputs));
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  const ConvolutionSizes sizes = convolution_sizes(run.numbers);
  const NormState norm_state{std::move(kept[normed]), std::move(kept[scales])};
  Tensors sums = bias_and_norm_gradient(after_convolution(run.numbers), norm_weights_of(run),
                                        norm_state, gradient);
  Tensor before = through_convolutions(sizes, gradient, kept);
  through_routing(run, sizes, kept, before);
  if (run.numbers.is("relu")) relu_gradient(kept[images], before);
  kept[images] = {};
  for (Tensor& sum : sums) kept.push_back(std::move(sum));
  return before;
}

void weight_gradient(const LayerRun&, const Tensors& kept, Tensors& sums) {
  add_dense_sums(kept[mixed], kept[shares], sums[kernels]);
  add_dense_sums(kept[routed], kept[means], sums[routing], &sums[routing_bias]);
  for (std::size_t i = norm_weights; i < sums.size(); ++i) {
    matrix(sums[i]) += matrix(kept[norm_gradients + i - norm_weights]);
  }
}

}  // namespace

constinit extern const KernelEntry conditional_conv_kernel_entry{
    .name = "conditional_conv",
    .columns = Columns::images,
    .rows_in = rows_in,
    .rows_out = rows_out,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
};

}  // namespace penstock::conditional_conv_kernel_file
