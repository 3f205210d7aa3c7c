#include "hardware_models/spec/model_spec.hpp"
#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/drawn.hpp"
#include "validate/kernels/steps/layer_steps.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock::head_kernel_file {
namespace {

enum Weight : std::size_t { table, shift };
enum Keeps : std::size_t {
  input,
  logits,
  kept_count
};  // logits become probabilities, then gradients

std::size_t rows_out(const LayerNumbers&) { return 1; }

/// Tied: the embedding's table, a column for each token.
bool is_tied(const LayerNumbers& numbers) { return numbers.is("tied"); }

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  const std::size_t vocab = size_of(numbers, "vocab");
  std::vector<WeightSpec> specs{{vocab, hidden_rows(numbers), spread_of_sum(hidden_rows(numbers))}};
  if (is_tied(numbers)) specs.front() = {hidden_rows(numbers), vocab, 1};
  if (numbers.is("bias")) specs.push_back({vocab, 1, 0.1});
  return specs;
}

/// The next token of each.
std::vector<std::size_t> labels(const LayerRun& run) {
  const KernelCell& cell = run.cell;
  const std::size_t vocab = size_of(run.numbers, "vocab");
  std::vector<std::size_t> all;
  for (std::size_t column = 0; column < columns_of(cell, Columns::tokens); ++column) {
    const std::size_t token = cell.first_token() + column % cell.tokens;
    all.push_back(token_at(cell, column / cell.tokens, token + 1, vocab));
  }
  return all;
}

/// The weight of a token: the loss of a microbatch is the mean over its tokens.
double share_of(const KernelCell& cell) {
  return 1 / static_cast<double>(cell.examples * cell.sequence());
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  kept.resize(kept_count);
  const Tensor& own = run.weights[table];
  kept[logits] = is_tied(run.numbers) ? dense_back(own, in) : dense(own, in);
  if (run.numbers.is("bias")) matrix(kept[logits]).colwise() += matrix(run.weights[shift]).col(0);
  kept[input] = std::move(in);
  Tensor loss(1, 1);
  loss.values[0] = cross_entropy(kept[logits], labels(run)) * share_of(run.cell);
  return loss;
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  cross_entropy_gradient(kept[logits], labels(run), share_of(run.cell) * gradient.values[0]);
  const Tensor& own = run.weights[table];
  return is_tied(run.numbers) ? dense(own, kept[logits]) : dense_back(own, kept[logits]);
}

void weight_gradient(const LayerRun& run, const Tensors& kept, Tensors& sums) {
  if (is_tied(run.numbers)) {
    add_dense_sums(kept[input], kept[logits], sums[table]);
  } else {
    add_dense_sums(kept[logits], kept[input], sums[table]);
  }
  if (run.numbers.is("bias")) matrix(sums[shift]) += matrix(kept[logits]).rowwise().sum();
}

}  // namespace

constinit extern const KernelEntry head_kernel_entry{
    .name = "head",
    .ends = Ends::last,
    .rows_out = rows_out,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
};

}  // namespace penstock::head_kernel_file
