#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/convolution_steps.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock {
namespace {

enum Weight : std::size_t { kernel, norm_weights };
enum Keeps : std::size_t { images, normed, scales, out_gradient, norm_gradients };

std::size_t rows_in(const LayerNumbers& numbers) { return ConvolutionSizes(numbers).rows_in(); }
std::size_t rows_out(const LayerNumbers& numbers) { return ConvolutionSizes(numbers).rows_out(); }

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  const ConvolutionSizes sizes(numbers);
  std::vector<WeightSpec> specs{
      {sizes.window(), sizes.channels_out, spread_of_sum(sizes.window())}};
  add_bias_and_norm_weights(numbers, specs);
  return specs;
}

const double* column_of(const Tensor& images_of_all, std::size_t image) {
  return &images_of_all.values[image * images_of_all.rows];
}
double* column_of(Tensor& images_of_all, std::size_t image) {
  return &images_of_all.values[image * images_of_all.rows];
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  const ConvolutionSizes sizes(run.numbers);
  if (run.numbers.is("relu")) relu(in);
  Tensor out(sizes.rows_out(), in.columns);
  for (std::size_t image = 0; image < in.columns; ++image) {
    convolve(sizes, run.weights[kernel].values.data(), column_of(in, image), column_of(out, image));
  }
  NormState norm_state = apply_bias_and_norm(run, norm_weights, out);
  kept.resize(out_gradient);
  kept[images] = std::move(in);
  kept[normed] = std::move(norm_state.normed);
  kept[scales] = std::move(norm_state.scales);
  return out;
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  const ConvolutionSizes sizes(run.numbers);
  const NormState norm_state{std::move(kept[normed]), std::move(kept[scales])};
  Tensors sums = bias_and_norm_gradient(run, norm_weights, norm_state, gradient);
  Tensor before(sizes.rows_in(), gradient.columns);
  for (std::size_t image = 0; image < gradient.columns; ++image) {
    convolve_image_gradient(sizes, run.weights[kernel].values.data(), column_of(gradient, image),
                            column_of(before, image));
  }
  if (run.numbers.is("relu")) relu_gradient(kept[images], before);
  kept.resize(out_gradient);
  kept.push_back(std::move(gradient));
  for (Tensor& sum : sums) kept.push_back(std::move(sum));
  return before;
}

void weight_gradient(const LayerRun& run, const Tensors& kept, Tensors& sums) {
  const ConvolutionSizes sizes(run.numbers);
  for (std::size_t image = 0; image < kept[images].columns; ++image) {
    convolve_weight_gradient(sizes, column_of(kept[images], image),
                             column_of(kept[out_gradient], image), sums[kernel].values.data());
  }
  for (std::size_t i = norm_weights; i < sums.size(); ++i) {
    matrix(sums[i]) += matrix(kept[norm_gradients + i - norm_weights]);
  }
}

}  // namespace

constinit extern const KernelEntry conv_kernel_entry{
    .name = "conv",
    .columns = Columns::images,
    .rows_in = rows_in,
    .rows_out = rows_out,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
};

}  // namespace penstock
