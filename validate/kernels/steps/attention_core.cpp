#include "validate/kernels/steps/attention_core.hpp"

#include <cmath>

#include "validate/kernels/steps/matrix.hpp"

namespace penstock {
namespace {

/// What all slices so far have, by example; `own` belongs to this slice.
Tensor so_far(const KernelCell& cell, const Tensors& earlier, const Tensor& own) {
  const std::size_t seen = cell.tokens * (cell.slice + 1);
  Tensor all(own.rows, cell.examples * seen);
  for (std::size_t example = 0; example < cell.examples; ++example) {
    for (std::size_t slice = 0; slice <= cell.slice; ++slice) {
      const Tensor& from = slice < cell.slice ? earlier[slice] : own;
      matrix(all).middleCols(eigen_index(example * seen + slice * cell.tokens),
                             eigen_index(cell.tokens)) =
          matrix(from).middleCols(eigen_index(example * cell.tokens), eigen_index(cell.tokens));
    }
  }
  return all;
}

/// Adds gradients of all slices so far to those of earlier ones; returns this slice's, including
/// those left by later ones.
Tensor handed_back(const KernelCell& cell, const Tensor& all, Tensors& earlier) {
  const std::size_t seen = cell.tokens * (cell.slice + 1);
  earlier.resize(cell.slices);
  for (std::size_t slice = 0; slice <= cell.slice; ++slice) {
    Tensor& to = earlier[slice];
    if (to.empty()) to = Tensor(all.rows, cell.examples * cell.tokens);
    for (std::size_t example = 0; example < cell.examples; ++example) {
      matrix(to).middleCols(eigen_index(example * cell.tokens), eigen_index(cell.tokens)) +=
          matrix(all).middleCols(eigen_index(example * seen + slice * cell.tokens),
                                 eigen_index(cell.tokens));
    }
  }
  return std::move(earlier[cell.slice]);
}

/// The keys and values of one head and example.
struct Seen {
  Tensor keys;
  Tensor values;
  std::size_t tokens = 0;

  Seen(const HeadSizes& sizes, const KernelCell& cell, const Tensor& projected,
       const SliceMemory& slices)
      : keys(so_far(cell, slices.keys, rows_of(projected, sizes.query_rows(), sizes.key_rows()))),
        values(so_far(cell, slices.values,
                      rows_of(projected, sizes.query_rows() + sizes.key_rows(), sizes.key_rows()))),
        tokens(cell.tokens * (cell.slice + 1)) {}
};

/// The block of one head and example in a tensor of stacked heads.
template <class Any>
auto block(Any& tensor, std::size_t head, std::size_t size, std::size_t example,
           std::size_t tokens) {
  return matrix(tensor).block(eigen_index(head * size), eigen_index(example * tokens),
                              eigen_index(size), eigen_index(tokens));
}

/// The columns of one head and example among all probabilities.
template <class Any>
auto scores_of(Any& probabilities, std::size_t heads, std::size_t head, std::size_t example,
               std::size_t tokens) {
  return matrix(probabilities)
      .middleCols(eigen_index((example * heads + head) * tokens), eigen_index(tokens));
}

/// The keys that a token attends to: first, and one past the last.
std::pair<std::size_t, std::size_t> looks_at(const HeadSizes& sizes, std::size_t place,
                                             std::size_t seen) {
  if (!sizes.causal) return {0, seen};
  const std::size_t back = sizes.window == 0 ? place + 1 : std::min(sizes.window, place + 1);
  return {place + 1 - back, place + 1};
}

template <class Block>
void softmax(const HeadSizes& sizes, const KernelCell& cell, std::size_t example, Block scores) {
  const auto seen = static_cast<std::size_t>(scores.rows());
  for (std::size_t token = 0; token < cell.tokens; ++token) {
    const auto range = looks_at(sizes, cell.first_token() + token, seen);
    const Eigen::Index count = eigen_index(range.second - range.first);
    auto column = scores.col(eigen_index(token)).array();
    Eigen::ArrayXd own = column.segment(eigen_index(range.first), count);
    if (sizes.choice != nullptr) {
      const auto may = matrix(*sizes.choice).col(eigen_index(example * cell.tokens + token));
      own += may.segment(eigen_index(range.first), count).array().log();  // log 0: no weight
    }
    own = (own - own.maxCoeff()).exp();
    column.setZero();
    column.segment(eigen_index(range.first), count) = own / own.sum();
  }
}

bool drops(const HeadSizes& sizes) { return sizes.dropout.probability > 0; }

/// The factors of dropout on the probabilities of one head and example; what has no weight needs
/// none.
template <class Block>
Eigen::MatrixXd factors_of(const HeadSizes& sizes, const KernelCell& cell, std::size_t example,
                           std::size_t head, const Block& shares) {
  constexpr std::uint32_t scores = 1;
  Eigen::MatrixXd factors = Eigen::MatrixXd::Zero(shares.rows(), shares.cols());
  for (Eigen::Index token = 0; token < shares.cols(); ++token) {
    const std::size_t asks = cell.first_token() + static_cast<std::size_t>(token);
    const std::size_t first =
        ((example * sizes.queries + head) * cell.sequence() + asks) * cell.sequence();
    for (Eigen::Index key = 0; key < shares.rows(); ++key) {
      if (shares(key, token) == 0) continue;
      factors(key, token) =
          sizes.dropout.factor(cell, scores, first + static_cast<std::size_t>(key));
    }
  }
  return factors;
}

double scale_of(const HeadSizes& sizes) { return 1 / std::sqrt(static_cast<double>(sizes.size)); }

Tensor probabilities_of(const HeadSizes& sizes, const KernelCell& cell, const Tensor& projected,
                        const Seen& seen) {
  Tensor all(seen.tokens, sizes.queries * cell.examples * cell.tokens);
  for (std::size_t example = 0; example < cell.examples; ++example) {
    for (std::size_t head = 0; head < sizes.queries; ++head) {
      const std::size_t key_head = head * sizes.keys / sizes.queries;
      auto scores = scores_of(all, sizes.queries, head, example, cell.tokens);
      scores.noalias() = block(seen.keys, key_head, sizes.size, example, seen.tokens).transpose() *
                         block(projected, head, sizes.size, example, cell.tokens);
      scores *= scale_of(sizes);
      softmax(sizes, cell, example, scores);
    }
  }
  return all;
}

/// Later slices read what F made, also where the slice is made again from encoded values.
void remember(const HeadSizes& sizes, const KernelCell& cell, const Tensor& projected,
              SliceMemory& slices) {
  if (cell.slices == 1) return;
  slices.keys.resize(cell.slices);
  slices.values.resize(cell.slices);
  if (!slices.keys[cell.slice].empty()) return;
  slices.keys[cell.slice] = rows_of(projected, sizes.query_rows(), sizes.key_rows());
  slices.values[cell.slice] =
      rows_of(projected, sizes.query_rows() + sizes.key_rows(), sizes.key_rows());
}

/// Gradients of queries, and of keys and values so far.
struct CoreGradients {
  Tensor queries;
  Tensor keys;
  Tensor values;
};

void add_head(const HeadSizes& sizes, const KernelCell& cell, const Tensor& projected,
              const Seen& seen, const Tensor& probabilities, const Tensor& gradient,
              std::size_t example, std::size_t head, CoreGradients& sums) {
  const std::size_t key_head = head * sizes.keys / sizes.queries;
  const auto shares = scores_of(probabilities, sizes.queries, head, example, cell.tokens);
  const auto above = block(gradient, head, sizes.size, example, cell.tokens);
  auto of_values = block(sums.values, key_head, sizes.size, example, seen.tokens);
  Eigen::MatrixXd scores =
      block(seen.values, key_head, sizes.size, example, seen.tokens).transpose() * above;
  if (drops(sizes)) {
    const Eigen::MatrixXd factors = factors_of(sizes, cell, example, head, shares);
    of_values.noalias() += above * shares.cwiseProduct(factors).transpose();
    scores.array() *= factors.array();
  } else {
    of_values.noalias() += above * shares.transpose();
  }
  const Eigen::RowVectorXd along = scores.cwiseProduct(shares).colwise().sum();
  scores = scale_of(sizes) * (scores.rowwise() - along).cwiseProduct(shares);
  block(sums.queries, head, sizes.size, example, cell.tokens).noalias() =
      block(seen.keys, key_head, sizes.size, example, seen.tokens) * scores;
  block(sums.keys, key_head, sizes.size, example, seen.tokens).noalias() +=
      block(projected, head, sizes.size, example, cell.tokens) * scores.transpose();
}

}  // namespace

HeadSizes::HeadSizes(const LayerNumbers& numbers)
    : hidden(size_of(numbers, "hidden")),
      queries(size_of(numbers, "heads")),
      keys(static_cast<std::size_t>(numbers.given("kv_heads").value_or(numbers["heads"]))),
      size(static_cast<std::size_t>(
          numbers.given("head_dim").value_or(numbers["hidden"] / numbers["heads"]))),
      causal(numbers.is("causal")),
      window(size_of(numbers, "window")) {}

Tensor attention_probabilities(const HeadSizes& sizes, const KernelCell& cell,
                               const Tensor& projected, const SliceMemory& slices) {
  return probabilities_of(sizes, cell, projected, Seen(sizes, cell, projected, slices));
}

Tensor attend(const HeadSizes& sizes, const KernelCell& cell, const Tensor& projected,
              SliceMemory& slices, Tensor* probabilities) {
  remember(sizes, cell, projected, slices);
  const Seen seen(sizes, cell, projected, slices);
  Tensor shares = probabilities_of(sizes, cell, projected, seen);
  Tensor means(sizes.query_rows(), projected.columns);
  for (std::size_t example = 0; example < cell.examples; ++example) {
    for (std::size_t head = 0; head < sizes.queries; ++head) {
      const std::size_t key_head = head * sizes.keys / sizes.queries;
      const auto own = scores_of(shares, sizes.queries, head, example, cell.tokens);
      const auto values = block(seen.values, key_head, sizes.size, example, seen.tokens);
      auto mean = block(means, head, sizes.size, example, cell.tokens);
      if (drops(sizes)) {
        mean.noalias() = values * own.cwiseProduct(factors_of(sizes, cell, example, head, own));
      } else {
        mean.noalias() = values * own;
      }
    }
  }
  if (probabilities != nullptr) *probabilities = std::move(shares);
  return means;
}

Tensor attend_gradient(const HeadSizes& sizes, const KernelCell& cell, const Tensor& projected,
                       const Tensor& probabilities, const Tensor& gradient, SliceMemory& slices) {
  const Seen seen(sizes, cell, projected, slices);
  Tensor again;
  if (probabilities.empty()) again = probabilities_of(sizes, cell, projected, seen);
  const Tensor& shares = probabilities.empty() ? again : probabilities;
  CoreGradients sums{{sizes.query_rows(), projected.columns},
                     {sizes.key_rows(), seen.keys.columns},
                     {sizes.key_rows(), seen.keys.columns}};
  for (std::size_t example = 0; example < cell.examples; ++example) {
    for (std::size_t head = 0; head < sizes.queries; ++head) {
      add_head(sizes, cell, projected, seen, shares, gradient, example, head, sums);
    }
  }
  Tensor result(projected.rows, projected.columns);
  matrix(result) << matrix(sums.queries),
      matrix(handed_back(cell, sums.keys, slices.key_gradients)),
      matrix(handed_back(cell, sums.values, slices.value_gradients));
  return result;
}

}  // namespace penstock
