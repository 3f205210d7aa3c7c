#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/layer_steps.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock::patches_kernel_file {
namespace {

enum Weight : std::size_t { project, others };
enum Keeps : std::size_t { pixels, out_gradient, kept_count };

std::size_t pixels_of(const LayerNumbers& numbers) {
  const std::size_t side = size_of(numbers, "patch");
  return size_of(numbers, "channels") * size_of(numbers, "frames") * side * side;
}
std::size_t rows_in(const LayerNumbers& numbers) {
  return pixels_of(numbers) * size_of(numbers, "tokens");
}
std::size_t rows_out(const LayerNumbers& numbers) {
  return size_of(numbers, "hidden") * size_of(numbers, "tokens");
}

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  const std::size_t hidden = size_of(numbers, "hidden");
  std::vector<WeightSpec> specs{{hidden, pixels_of(numbers), spread_of_sum(pixels_of(numbers))}};
  if (numbers.is("positions")) specs.push_back({hidden, size_of(numbers, "positions"), 0.5});
  if (numbers.is("bias")) specs.push_back({hidden, 1, 0.1});
  return specs;
}

/// Calls `visit(position)` for each patch of an example; a table is repeated where it is short.
template <class Visitor>
void for_each_patch(const LayerRun& run, Eigen::Index columns, Visitor visit) {
  if (!run.numbers.is("positions")) return;
  const std::size_t tokens = size_of(run.numbers, "tokens");
  for (Eigen::Index column = 0; column < columns; ++column) {
    visit(column, eigen_index(static_cast<std::size_t>(column) % tokens %
                              size_of(run.numbers, "positions")));
  }
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  kept.resize(kept_count);
  kept[pixels] = columns_of_size(std::move(in), pixels_of(run.numbers));
  Tensor out = dense(run.weights[project], kept[pixels]);
  auto all = matrix(out);
  for_each_patch(run, all.cols(), [&](Eigen::Index column, Eigen::Index place) {
    all.col(column) += matrix(run.weights[others]).col(place);
  });
  if (run.numbers.is("bias")) all.colwise() += matrix(run.weights.back()).col(0);
  return columns_of_size(std::move(out), rows_out(run.numbers));
}

/// Of pixels, which nobody reads in front of a model.
Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  kept[out_gradient] = columns_of_size(std::move(gradient), size_of(run.numbers, "hidden"));
  return columns_of_size(dense_back(run.weights[project], kept[out_gradient]),
                         rows_in(run.numbers));
}

void weight_gradient(const LayerRun& run, const Tensors& kept, Tensors& sums) {
  const auto gradient = matrix(kept[out_gradient]);
  add_dense_sums(kept[out_gradient], kept[pixels], sums[project],
                 run.numbers.is("bias") ? &sums.back() : nullptr);
  for_each_patch(run, gradient.cols(), [&](Eigen::Index column, Eigen::Index place) {
    matrix(sums[others]).col(place) += gradient.col(column);
  });
}

}  // namespace

constinit extern const KernelEntry patches_kernel_entry{
    .name = "patches",
    .columns = Columns::images,
    .rows_in = rows_in,
    .rows_out = rows_out,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
};

}  // namespace penstock::patches_kernel_file
