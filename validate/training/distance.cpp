#include "validate/training/distance.hpp"

#include "validate/kernels/steps/drawn.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock {
namespace {

std::size_t rows_in(const LayerNumbers& numbers) { return size_of(numbers, "rows"); }
std::size_t rows_out(const LayerNumbers&) { return 1; }
std::vector<WeightSpec> weights(const LayerNumbers&) { return {}; }

Columns columns(const LayerRun& run) {
  return run.numbers.is("images") ? Columns::images : Columns::tokens;
}

double share_of(const LayerRun& run) {
  const std::size_t of_example = columns(run) == Columns::images ? 1 : run.cell.sequence();
  return 1 / static_cast<double>(run.cell.examples * of_example);
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  matrix(in) -= matrix(drawn_numbers(run.cell, columns(run), in.rows, Drawn::target));
  Tensor loss(1, 1);
  loss.values[0] = 0.5 * share_of(run) * matrix(in).squaredNorm();
  kept.assign(1, std::move(in));
  return loss;
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  Tensor before = std::move(kept.front());
  matrix(before) *= share_of(run) * gradient.values[0];
  kept.clear();
  return before;
}

void weight_gradient(const LayerRun&, const Tensors&, Tensors&) {}

}  // namespace

constinit const KernelEntry distance_kernel{
    .name = "distance",
    .ends = Ends::last,
    .rows_in = rows_in,
    .rows_out = rows_out,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
};

}  // namespace penstock
