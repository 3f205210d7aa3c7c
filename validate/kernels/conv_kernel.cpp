#include <utility>

#include "validate/kernels/images/convolution.hpp"
#include "validate/kernels/registry.hpp"

namespace penstock::conv_kernel_file {
namespace {

std::size_t rows_in(const LayerNumbers& numbers) { return convolution_sizes(numbers).rows_in(); }
std::size_t rows_out(const LayerNumbers& numbers) { return convolution_sizes(numbers).rows_out(); }

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  return ConvolutionBlock(numbers).weights();
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  kept.resize(ConvolutionBlock::kept_tensors);
  return ConvolutionBlock(run.numbers).forward(run.weights, std::move(in), kept);
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  return ConvolutionBlock(run.numbers).input_gradient(run.weights, std::move(gradient), kept);
}

void weight_gradient(const LayerRun& run, const Tensors& kept, Tensors& sums) {
  ConvolutionBlock(run.numbers).weight_gradient(kept, sums);
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

}  // namespace penstock::conv_kernel_file
