#include <fmt/format.h>

#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/drawn.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock::embedding_kernel_file {
namespace {

enum Weight : std::size_t { table, places };
enum Keeps : std::size_t { tokens, out_gradient, kept_count };

std::optional<std::string> why_not(const LayerNumbers& numbers, const CellShape& shape) {
  const double positions = numbers["positions"];
  if (positions > 0 && positions < shape.sequence) {
    return fmt::format("\"positions\" {}: a sequence has {} tokens", positions, shape.sequence);
  }
  return std::nullopt;
}

std::size_t rows_in(const LayerNumbers&) { return 1; }

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  std::vector<WeightSpec> specs{{hidden_rows(numbers), size_of(numbers, "vocab"), 1}};
  if (numbers.is("positions")) {
    specs.push_back({hidden_rows(numbers), size_of(numbers, "positions"), 0.5});
  }
  return specs;
}

/// Calls `visit(column, token, position)`.
template <class Visitor>
void for_each_token(const LayerRun& run, const Tensor& numbers, Visitor visit) {
  for (std::size_t column = 0; column < numbers.columns; ++column) {
    const std::size_t place = run.cell.first_token() + column % run.cell.tokens;
    visit(static_cast<Eigen::Index>(column), static_cast<Eigen::Index>(numbers.values[column]),
          static_cast<Eigen::Index>(place));
  }
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  const bool placed = run.numbers.is("positions");
  Tensor result(run.weights[table].rows, in.columns);
  auto out = matrix(result);
  for_each_token(run, in, [&](auto column, auto token, auto place) {
    out.col(column) = matrix(run.weights[table]).col(token);
    if (placed) out.col(column) += matrix(run.weights[places]).col(place);
  });
  drop_out(run, result);
  kept.resize(kept_count);
  kept[tokens] = std::move(in);
  return result;
}

/// Token ids have no gradient.
Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  drop_out(run, gradient);
  kept[out_gradient] = std::move(gradient);
  return {};
}

void weight_gradient(const LayerRun& run, const Tensors& kept, Tensors& sums) {
  const bool placed = run.numbers.is("positions");
  const auto gradient = matrix(kept[out_gradient]);
  for_each_token(run, kept[tokens], [&](auto column, auto token, auto place) {
    matrix(sums[table]).col(token) += gradient.col(column);
    if (placed) matrix(sums[places]).col(place) += gradient.col(column);
  });
}

}  // namespace

constinit extern const KernelEntry embedding_kernel_entry{
    .name = "embedding",
    .ends = Ends::first,
    .why_not = why_not,
    .rows_in = rows_in,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
    .exact = 1U << tokens,
};

}  // namespace penstock::embedding_kernel_file
