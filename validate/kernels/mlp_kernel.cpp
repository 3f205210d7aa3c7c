#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/drawn.hpp"
#include "validate/kernels/steps/layer_steps.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock::mlp_kernel_file {
namespace {

enum Weight : std::size_t { into, out_of, into_bias, out_bias };
enum Keeps : std::size_t { input, wide, active, out_gradient, kept_count };

std::size_t rows(const LayerNumbers& numbers) { return size_of(numbers, "hidden"); }

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  const std::size_t inside = size_of(numbers, "intermediate");
  const std::size_t outputs = inside * (numbers.is("gated") ? 2 : 1);
  std::vector<WeightSpec> specs{{outputs, rows(numbers), spread_of_sum(rows(numbers))},
                                {rows(numbers), inside, spread_of_sum(inside)}};
  if (numbers.is("bias")) specs.insert(specs.end(), {{outputs, 1, 0.1}, {rows(numbers), 1, 0.1}});
  return specs;
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  const bool bias = run.numbers.is("bias");
  kept.resize(kept_count);
  kept[wide] = Tensor(run.weights[into].rows, in.columns);
  auto outputs = matrix(kept[wide]);
  outputs.noalias() = matrix(run.weights[into]) * matrix(in);
  if (bias) outputs.colwise() += matrix(run.weights[into_bias]).col(0);
  kept[active] = activated(run.numbers.is("gated"), kept[wide]);
  Tensor out(in.rows, in.columns);
  matrix(out).noalias() = matrix(run.weights[out_of]) * matrix(kept[active]);
  if (bias) matrix(out).colwise() += matrix(run.weights[out_bias]).col(0);
  drop_out(run, out);
  kept[input] = std::move(in);
  return out;
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  drop_out(run, gradient);
  const Eigen::MatrixXd inside = matrix(run.weights[out_of]).transpose() * matrix(gradient);
  kept[wide] = activation_gradient(run.numbers.is("gated"), kept[wide], inside);
  Tensor before(kept[input].rows, kept[input].columns);
  matrix(before).noalias() = matrix(run.weights[into]).transpose() * matrix(kept[wide]);
  kept[out_gradient] = std::move(gradient);
  return before;
}

void weight_gradient(const LayerRun& run, const Tensors& kept, Tensors& sums) {
  const auto inside = matrix(kept[wide]);  // its gradient, since I
  const auto outside = matrix(kept[out_gradient]);
  matrix(sums[into]).noalias() += inside * matrix(kept[input]).transpose();
  matrix(sums[out_of]).noalias() += outside * matrix(kept[active]).transpose();
  if (!run.numbers.is("bias")) return;
  matrix(sums[into_bias]) += inside.rowwise().sum();
  matrix(sums[out_bias]) += outside.rowwise().sum();
}

}  // namespace

constinit extern const KernelEntry mlp_kernel_entry{
    .name = "mlp",
    .around = ResidualPart::ends,
    .rows_in = rows,
    .rows_out = rows,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
};

}  // namespace penstock::mlp_kernel_file
