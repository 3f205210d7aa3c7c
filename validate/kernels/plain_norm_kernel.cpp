#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/layer_steps.hpp"

namespace penstock::plain_norm_kernel_file {
namespace {

enum Keeps : std::size_t { normed, scales, kept_count };

std::size_t rows(const LayerNumbers& numbers) { return size_of(numbers, "hidden"); }

std::vector<WeightSpec> weights(const LayerNumbers&) { return {}; }

Tensor forward(const LayerRun&, Tensor in, Tensors& kept) {
  kept.resize(kept_count);
  kept[scales] = norm_columns(in, true);
  kept[normed] = in;
  return in;
}

Tensor input_gradient(const LayerRun&, Tensor gradient, Tensors& kept) {
  norm_gradient(kept[normed], kept[scales], true, gradient);
  kept.clear();
  return gradient;
}

void weight_gradient(const LayerRun&, const Tensors&, Tensors&) {}

}  // namespace

constinit extern const KernelEntry plain_norm_kernel_entry{
    .name = "plain_norm",
    .around = ResidualPart::begins,
    .rows_in = rows,
    .rows_out = rows,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
};

}  // namespace penstock::plain_norm_kernel_file
