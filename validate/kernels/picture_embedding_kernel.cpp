#include <fmt/format.h>

#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/drawn.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock::picture_embedding_kernel_file {
namespace {

// The tokens of pictures take the first places of each example; vectors of inner layers are added
// to them here, and not behind the first layers of the decoder.

enum Weight : std::size_t { table };
enum Keeps : std::size_t { ids, out_gradient, kept_count };

std::size_t pictures_of(const LayerNumbers& numbers) { return size_of(numbers, "pictures"); }

/// A column for each token of pictures, and behind all of them those of inner layers.
std::size_t rows_in(const LayerNumbers& numbers) {
  return hidden_rows(numbers) * pictures_of(numbers) * (1 + size_of(numbers, "deep"));
}

std::optional<std::string> why_not(const LayerNumbers& numbers, const CellShape& shape) {
  if (numbers["pictures"] <= shape.sequence) return std::nullopt;
  return fmt::format("\"pictures\" {}: a sequence has {} tokens", numbers["pictures"],
                     shape.sequence);
}

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  return {{hidden_rows(numbers), size_of(numbers, "vocab"), 1}};
}

/// Calls `visit(column of the output, token of pictures or nothing, token id)`.
template <class Visitor>
void for_each_token(const LayerRun& run, const Tensor& all, Visitor visit) {
  for (std::size_t column = 0; column < all.columns; ++column) {
    const std::size_t place = column % run.cell.tokens, example = column / run.cell.tokens;
    visit(eigen_index(column), place < pictures_of(run.numbers), eigen_index(example),
          eigen_index(place), static_cast<Eigen::Index>(all.values[column]));
  }
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  const auto hidden = eigen_index(hidden_rows(run.numbers)),
             part = hidden * eigen_index(pictures_of(run.numbers));
  kept.resize(kept_count);
  kept[ids] = drawn_tokens(run.cell, size_of(run.numbers, "vocab"));
  Tensor out(hidden_rows(run.numbers), kept[ids].columns);
  for_each_token(run, kept[ids], [&](auto column, bool picture, auto example, auto place, auto id) {
    auto to = matrix(out).col(column);
    if (!picture) {
      to = matrix(run.weights[table]).col(id);
      return;
    }
    for (Eigen::Index from = place * hidden; from < matrix(in).rows(); from += part) {
      to += matrix(in).col(example).segment(from, hidden);
    }
  });
  return out;
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  const auto hidden = eigen_index(hidden_rows(run.numbers)),
             part = hidden * eigen_index(pictures_of(run.numbers));
  Tensor before(rows_in(run.numbers), run.cell.examples);
  for_each_token(run, kept[ids], [&](auto column, bool picture, auto example, auto place, auto) {
    if (!picture) return;
    for (Eigen::Index to = place * hidden; to < matrix(before).rows(); to += part) {
      matrix(before).col(example).segment(to, hidden) = matrix(gradient).col(column);
    }
  });
  kept[out_gradient] = std::move(gradient);
  return before;
}

void weight_gradient(const LayerRun& run, const Tensors& kept, Tensors& sums) {
  for_each_token(run, kept[ids], [&](auto column, bool picture, auto, auto, auto id) {
    if (!picture) matrix(sums[table]).col(id) += matrix(kept[out_gradient]).col(column);
  });
}

}  // namespace

constinit extern const KernelEntry picture_embedding_kernel_entry{
    .name = "picture_embedding",
    .columns = Columns::images,
    .columns_out = Columns::tokens,
    .why_not = why_not,
    .rows_in = rows_in,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
    .exact = 1U << ids,
};

}  // namespace penstock::picture_embedding_kernel_file
