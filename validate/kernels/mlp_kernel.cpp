#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/drawn.hpp"
#include "validate/kernels/steps/layer_steps.hpp"

namespace penstock::mlp_kernel_file {
namespace {

enum Weight : std::size_t { into, out_of, into_bias, out_bias };
enum Keeps : std::size_t { input, wide, active, out_gradient, kept_count };

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  const std::size_t inside = size_of(numbers, "intermediate");
  const std::size_t outputs = inside * (numbers.is("gated") ? 2 : 1);
  std::vector<WeightSpec> specs{
      {outputs, hidden_rows(numbers), spread_of_sum(hidden_rows(numbers))},
      {hidden_rows(numbers), inside, spread_of_sum(inside)}};
  if (numbers.is("bias"))
    specs.insert(specs.end(), {{outputs, 1, 0.1}, {hidden_rows(numbers), 1, 0.1}});
  return specs;
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  kept.resize(kept_count);
  kept[wide] = dense(run.weights[into], in, run.weight_if("bias", into_bias));
  kept[active] = activated(run.numbers.is("gated"), kept[wide]);
  Tensor out = dense(run.weights[out_of], kept[active], run.weight_if("bias", out_bias));
  drop_out(run, out);
  kept[input] = std::move(in);
  return out;
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  drop_out(run, gradient);
  kept[wide] = activation_gradient(run.numbers.is("gated"), kept[wide],
                                   dense_back(run.weights[out_of], gradient));
  kept[out_gradient] = std::move(gradient);
  return dense_back(run.weights[into], kept[wide]);
}

void weight_gradient(const LayerRun& run, const Tensors& kept, Tensors& sums) {
  const bool bias = run.numbers.is("bias");
  // What was wide is its gradient, since I.
  add_dense_sums(kept[wide], kept[input], sums[into], bias ? &sums[into_bias] : nullptr);
  add_dense_sums(kept[out_gradient], kept[active], sums[out_of], bias ? &sums[out_bias] : nullptr);
}

}  // namespace

constinit extern const KernelEntry mlp_kernel_entry{
    .name = "mlp",
    .around = ResidualPart::ends,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
};

}  // namespace penstock::mlp_kernel_file
