#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/convolution_steps.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock {
namespace {

enum Weight : std::size_t { kernel, behind };
enum Keeps : std::size_t { images, normed, scales, out_gradient, behind_gradients };

std::size_t rows_in(const LayerNumbers& numbers) { return ConvolutionSizes(numbers).rows_in(); }
std::size_t rows_out(const LayerNumbers& numbers) { return ConvolutionSizes(numbers).rows_out(); }

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  const ConvolutionSizes sizes(numbers);
  std::vector<WeightSpec> specs{
      {sizes.window(), sizes.channels_out, spread_of_sum(sizes.window())}};
  add_weights_behind(numbers, specs);
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
  Behind behind_it = apply_behind(run, behind, out);
  kept.resize(out_gradient);
  kept[images] = std::move(in);
  kept[normed] = std::move(behind_it.normed);
  kept[scales] = std::move(behind_it.scales);
  return out;
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  const ConvolutionSizes sizes(run.numbers);
  const Behind behind_it{std::move(kept[normed]), std::move(kept[scales])};
  Tensors sums = behind_gradient(run, behind, behind_it, gradient);
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
  for (std::size_t i = behind; i < sums.size(); ++i) {
    matrix(sums[i]) += matrix(kept[behind_gradients + i - behind]);
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
