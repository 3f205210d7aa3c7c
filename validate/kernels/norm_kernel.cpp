#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/layer_steps.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock::norm_kernel_file {
namespace {

enum Weight : std::size_t { gain, shift };
// What F keeps; I replaces it by the gradients of the weights, so W does not read the tokens again.
enum Keeps : std::size_t { normed, scales, kept_count };

bool has_weights(const LayerNumbers& numbers) { return numbers.is("weights"); }
bool has_bias(const LayerNumbers& numbers) { return has_weights(numbers) && numbers.is("bias"); }
bool is_layer_norm(const LayerNumbers& numbers) {
  return numbers.is("bias") || !has_weights(numbers);
}

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  if (!has_weights(numbers)) return {};
  std::vector<WeightSpec> specs{{hidden_rows(numbers), 1, 0.1, 1}};
  if (has_bias(numbers)) specs.push_back({hidden_rows(numbers), 1, 0.1});
  return specs;
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  kept.resize(kept_count);
  kept[scales] = norm_columns(in, is_layer_norm(run.numbers));
  kept[normed] = in;
  if (!has_weights(run.numbers)) return in;
  auto out = matrix(in);
  out.array().colwise() *= matrix(run.weights[gain]).col(0).array();
  if (has_bias(run.numbers)) out.colwise() += matrix(run.weights[shift]).col(0);
  return in;
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  Tensors sums;
  for (const Tensor& weight : run.weights) sums.emplace_back(weight.rows, weight.columns);
  auto own = matrix(gradient);
  if (has_weights(run.numbers)) {
    matrix(sums[gain]) = (own.array() * matrix(kept[normed]).array()).rowwise().sum();
    if (has_bias(run.numbers)) matrix(sums[shift]) = own.rowwise().sum();
    own.array().colwise() *= matrix(run.weights[gain]).col(0).array();
  }
  norm_gradient(kept[normed], kept[scales], is_layer_norm(run.numbers), gradient);
  kept = std::move(sums);
  return gradient;
}

void weight_gradient(const LayerRun&, const Tensors& kept, Tensors& sums) {
  for (std::size_t i = 0; i < sums.size(); ++i) matrix(sums[i]) += matrix(kept[i]);
}

}  // namespace

constinit extern const KernelEntry norm_kernel_entry{
    .name = "norm",
    .around = ResidualPart::begins,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
};

}  // namespace penstock::norm_kernel_file
