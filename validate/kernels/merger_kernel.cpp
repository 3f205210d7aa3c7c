#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/layer_steps.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock::merger_kernel_file {
namespace {

// Neighbours of a token follow each other, so that joining them moves no value. Further mergers
// read the same patches as the first; they norm what they have joined.

/// What each merger has, in this order.
enum Weight : std::size_t { gain, shift, into, into_bias, out_of, out_bias, of_merger };
enum Keeps : std::size_t { normed, scales, wide, active, out_gradient, gain_gradient, kept_count };

struct Sizes {
  std::size_t hidden, joined, out, mergers, patches, tokens;
  bool centred;

  explicit Sizes(const LayerNumbers& numbers)
      : hidden(size_of(numbers, "hidden")),
        joined(hidden * size_of(numbers, "side") * size_of(numbers, "side")),
        out(size_of(numbers, "out")),
        mergers(1 + size_of(numbers, "deep")),
        patches(size_of(numbers, "tokens")),
        tokens(patches * hidden / joined),
        centred(numbers.is("norm_bias")) {}

  std::size_t width(std::size_t merger) const { return merger == 0 ? hidden : joined; }
};

std::optional<std::string> why_not(const LayerNumbers& numbers, const CellShape&) {
  const Sizes sizes(numbers);
  if (sizes.tokens * sizes.joined == sizes.patches * sizes.hidden) return std::nullopt;
  return "\"tokens\": patches that are no multiple of those of a token";
}

std::size_t rows_in(const LayerNumbers& numbers) {
  const Sizes sizes(numbers);
  return sizes.hidden * sizes.patches;
}
std::size_t rows_out(const LayerNumbers& numbers) {
  const Sizes sizes(numbers);
  return sizes.out * sizes.tokens * sizes.mergers;
}

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  const Sizes sizes(numbers);
  std::vector<WeightSpec> specs;
  for (std::size_t merger = 0; merger < sizes.mergers; ++merger) {
    const std::size_t width = sizes.width(merger);
    specs.push_back({width, 1, 0.1, 1});
    specs.push_back({sizes.centred ? width : 0, 1, 0.1});
    specs.push_back({sizes.joined, sizes.joined, spread_of_sum(sizes.joined)});
    specs.push_back({sizes.joined, 1, 0.1});
    specs.push_back({sizes.out, sizes.joined, spread_of_sum(sizes.joined)});
    specs.push_back({sizes.out, 1, 0.1});
  }
  return specs;
}

Tensor merged(const Sizes& sizes, const Tensor* weights, Tensor in, std::size_t merger,
              Tensor* kept) {
  Tensor tokens = columns_of_size(std::move(in), sizes.width(merger));
  kept[scales] = norm_columns(tokens, sizes.centred);
  kept[normed] = tokens;
  matrix(tokens).array().colwise() *= matrix(weights[gain]).col(0).array();
  if (sizes.centred) matrix(tokens).colwise() += matrix(weights[shift]).col(0);
  tokens = columns_of_size(std::move(tokens), sizes.joined);
  kept[wide] = dense(weights[into], tokens, &weights[into_bias]);
  kept[active] = activated(false, kept[wide]);
  return columns_of_size(dense(weights[out_of], kept[active], &weights[out_bias]),
                         sizes.out * sizes.tokens);
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  const Sizes sizes(run.numbers);
  kept.assign(kept_count * sizes.mergers, {});
  Tensor out(rows_out(run.numbers), in.columns);
  const auto rows = eigen_index(sizes.out * sizes.tokens);
  for (std::size_t merger = 0; merger < sizes.mergers; ++merger) {
    matrix(out).middleRows(eigen_index(merger) * rows, rows) = matrix(
        merged(sizes, &run.weights[merger * of_merger], in, merger, &kept[merger * kept_count]));
  }
  return out;
}

/// The gradient of a merger's patches. What it keeps becomes gradients, but for its activation.
Tensor merged_gradient(const Sizes& sizes, const Tensor* weights, Tensor gradient,
                       std::size_t merger, Tensor* kept) {
  kept[out_gradient] = columns_of_size(std::move(gradient), sizes.out);
  kept[wide] =
      activation_gradient(false, kept[wide], dense_back(weights[out_of], kept[out_gradient]));
  Tensor before = columns_of_size(dense_back(weights[into], kept[wide]), sizes.width(merger));
  kept[gain_gradient] = before;
  matrix(before).array().colwise() *= matrix(weights[gain]).col(0).array();
  norm_gradient(kept[normed], kept[scales], sizes.centred, before);
  return columns_of_size(std::move(before), sizes.hidden * sizes.patches);
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  const Sizes sizes(run.numbers);
  Tensor before(rows_in(run.numbers), gradient.columns);
  const std::size_t rows = sizes.out * sizes.tokens;
  for (std::size_t merger = 0; merger < sizes.mergers; ++merger) {
    add_values(
        merged_gradient(sizes, &run.weights[merger * of_merger],
                        rows_of(gradient, merger * rows, rows), merger, &kept[merger * kept_count]),
        before);
  }
  return before;
}

void weight_gradient(const LayerRun& run, const Tensors& kept, Tensors& sums) {
  const Sizes sizes(run.numbers);
  for (std::size_t merger = 0; merger < sizes.mergers; ++merger) {
    const Tensor* const own = &kept[merger * kept_count];
    const Tensor* const weights = &run.weights[merger * of_merger];
    Tensor* const to = &sums[merger * of_merger];
    const auto above = matrix(own[gain_gradient]);
    matrix(to[gain]) += above.cwiseProduct(matrix(own[normed])).rowwise().sum();
    if (sizes.centred) matrix(to[shift]) += above.rowwise().sum();
    Tensor tokens = own[normed];
    matrix(tokens).array().colwise() *= matrix(weights[gain]).col(0).array();
    if (sizes.centred) matrix(tokens).colwise() += matrix(weights[shift]).col(0);
    tokens = columns_of_size(std::move(tokens), sizes.joined);
    add_dense_sums(own[wide], tokens, to[into], &to[into_bias]);
    add_dense_sums(own[out_gradient], own[active], to[out_of], &to[out_bias]);
  }
}

}  // namespace

constinit extern const KernelEntry merger_kernel_entry{
    .name = "merger",
    .columns = Columns::images,
    .why_not = why_not,
    .rows_in = rows_in,
    .rows_out = rows_out,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
};

}  // namespace penstock::merger_kernel_file
