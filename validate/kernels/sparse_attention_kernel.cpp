#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/attention_core.hpp"
#include "validate/kernels/steps/layer_steps.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock::sparse_attention_kernel_file {
namespace {

// Small heads score the keys of each token: a sum over the heads of a weight times the positive
// part of query times key. The token attends to the keys with the highest scores. The choice has no
// gradient, so the indexer's weights stay as they are.

constexpr std::size_t choice = latent_kept;  // among what F keeps
constexpr double shift_spread = 0.1;

/// The indexer's weights come behind those of the attention.
enum IndexerWeight : std::size_t { queries, key, gain, shift, of_heads };

std::size_t first_weight(const LayerNumbers& numbers) { return numbers.is("q_lora_rank") ? 6 : 5; }

std::optional<std::string> why_not(const LayerNumbers& numbers, const CellShape& shape) {
  if (size_of(numbers, "rope") % 2 != 0) return "an odd \"rope\": the kernel turns pairs";
  if (!numbers.is("indexer")) return "\"indexer\" 0: the kernel chooses the keys of its own layer";
  if (!numbers.is("causal")) return "\"causal\" 0: the kernel only attends backwards";
  if (shape.slices == 1) return std::nullopt;
  return "slices: the kernel chooses among the keys of one cell";
}

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  const std::size_t hidden = size_of(numbers, "hidden"), size = size_of(numbers, "index_dim"),
                    heads = size_of(numbers, "index_heads");
  std::vector<WeightSpec> specs = latent_weights(numbers);
  const std::size_t latent = size_of(numbers, "q_lora_rank");
  const std::size_t source = latent > 0 ? latent : hidden;
  specs.push_back({heads * size, source, spread_of_sum(source)});
  specs.push_back({size, hidden, spread_of_sum(hidden)});
  specs.push_back({size, 1, shift_spread, 1});
  specs.push_back({size, 1, shift_spread});
  specs.push_back({heads, hidden, spread_of_sum(hidden)});
  return specs;
}

/// The queries' source: the normed latent, or the input.
Eigen::MatrixXd source_of(const LayerRun& run, const Tensor& in) {
  const std::size_t rank = size_of(run.numbers, "q_lora_rank");
  if (rank == 0) return matrix(in);
  Tensor latent(rank, in.columns);
  matrix(latent) = matrix(run.weights[0]).topRows(eigen_index(rank)) * matrix(in);
  norm_columns(latent, false);
  constexpr std::size_t query_gain = 5;
  return (matrix(latent).array().colwise() * matrix(run.weights[query_gain]).col(0).array())
      .matrix();
}

Eigen::MatrixXd keys_of(const LayerRun& run, const Tensor& in, std::size_t first) {
  Tensor keys(size_of(run.numbers, "index_dim"), in.columns);
  matrix(keys) = matrix(run.weights[first + key]) * matrix(in);
  norm_columns(keys, true);
  const auto gains = matrix(run.weights[first + gain]).col(0).array();
  const auto shifts = matrix(run.weights[first + shift]).col(0).array();
  return ((matrix(keys).array().colwise() * gains).colwise() + shifts).matrix();
}

Tensor chosen_keys(const LayerRun& run, const Tensor& in) {
  const std::size_t first = first_weight(run.numbers), tokens = run.cell.tokens;
  const auto size = eigen_index(size_of(run.numbers, "index_dim"));
  const Eigen::MatrixXd query = matrix(run.weights[first + queries]) * source_of(run, in);
  const Eigen::MatrixXd keys = keys_of(run, in, first);
  const Eigen::MatrixXd shares = matrix(run.weights[first + of_heads]) * matrix(in);
  Tensor chosen(tokens, in.columns);
  for (std::size_t column = 0; column < in.columns; ++column) {
    const auto token = eigen_index(column % tokens), at = eigen_index(column);
    Eigen::VectorXd scores = Eigen::VectorXd::Zero(token + 1);
    for (Eigen::Index head = 0; head < shares.rows(); ++head) {
      const Eigen::VectorXd own = keys.middleCols(at - token, token + 1).transpose() *
                                  query.col(at).segment(head * size, size);
      scores += shares(head, at) * own.cwiseMax(0);
    }
    for (const Eigen::Index one : highest(scores, size_of(run.numbers, "chosen"))) {
      column_of(chosen, column)[one] = 1;
    }
  }
  return chosen;
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  Tensor chosen = chosen_keys(run, in);
  Tensor out = latent_forward(run, std::move(in), kept, &chosen);
  kept.push_back(std::move(chosen));
  return out;
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  const Tensor chosen = std::move(kept[choice]);
  kept[choice] = {};
  return latent_input_gradient(run, std::move(gradient), kept, &chosen);
}

}  // namespace

constinit extern const KernelEntry sparse_attention_kernel_entry{
    .name = "sparse_attention",
    .around = ResidualPart::ends,
    .why_not = why_not,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = latent_weight_gradient,
    .exact = 1U << choice,
};

}  // namespace penstock::sparse_attention_kernel_file
