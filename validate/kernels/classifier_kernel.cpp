#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/drawn.hpp"
#include "validate/kernels/steps/layer_steps.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock::classifier_kernel_file {
namespace {

enum Weight : std::size_t { table, shift };
enum Keeps : std::size_t {
  means,
  logits,
  kept_count
};  // logits become probabilities, then gradients

std::size_t places(const LayerNumbers& numbers) {
  return size_of(numbers, "height") * size_of(numbers, "width");
}
std::size_t rows_in(const LayerNumbers& numbers) {
  return size_of(numbers, "channels") * places(numbers);
}
std::size_t rows_out(const LayerNumbers&) { return 1; }

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  const std::size_t channels = size_of(numbers, "channels");
  const std::size_t classes = size_of(numbers, "classes");
  return {{classes, channels, spread_of_sum(channels)}, {classes, 1, 0.1}};
}

/// The label of each example.
std::vector<std::size_t> labels(const LayerRun& run) {
  std::vector<std::size_t> all;
  for (std::size_t example = 0; example < run.cell.examples; ++example) {
    all.push_back(token_at(run.cell, example, 0, size_of(run.numbers, "classes")));
  }
  return all;
}

/// The weight of an example: the loss of a microbatch is the mean over its examples.
double share_of(const KernelCell& cell) { return 1 / static_cast<double>(cell.examples); }

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  kept.resize(kept_count);
  kept[means] = channel_means(in, run.weights[table].columns);
  kept[logits] = dense(run.weights[table], kept[means], &run.weights[shift]);
  Tensor loss(1, 1);
  loss.values[0] = cross_entropy(kept[logits], labels(run)) * share_of(run.cell);
  return loss;
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  cross_entropy_gradient(kept[logits], labels(run), share_of(run.cell) * gradient.values[0]);
  const Eigen::MatrixXd of_means = matrix(run.weights[table]).transpose() * matrix(kept[logits]) /
                                   static_cast<double>(places(run.numbers));
  Tensor before(rows_in(run.numbers), kept[means].columns);
  const auto of_channel = static_cast<Eigen::Index>(places(run.numbers));
  Matrix(before.values.data(), of_channel, of_means.size()).rowwise() =
      of_means.reshaped().transpose();
  return before;
}

void weight_gradient(const LayerRun&, const Tensors& kept, Tensors& sums) {
  add_dense_sums(kept[logits], kept[means], sums[table], &sums[shift]);
}

}  // namespace

constinit extern const KernelEntry classifier_kernel_entry{
    .name = "classifier",
    .columns = Columns::images,
    .ends = Ends::last,
    .rows_in = rows_in,
    .rows_out = rows_out,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
};

}  // namespace penstock::classifier_kernel_file
