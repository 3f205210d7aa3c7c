#include <cmath>

#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/layer_steps.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock::moe_kernel_file {
namespace {

// A token goes to the experts with the highest scores; the softmax of these scores weighs their
// results. Shared experts run for every token.

/// Sizes of a layer, and the places of its tensors.
struct ExpertSizes {
  std::size_t hidden, experts, chosen, inside, shared;
  bool gated, shared_gate;

  explicit ExpertSizes(const LayerNumbers& numbers)
      : hidden(size_of(numbers, "hidden")),
        experts(size_of(numbers, "experts")),
        chosen(size_of(numbers, "chosen")),
        inside(size_of(numbers, "expert_intermediate")),
        shared(size_of(numbers, "shared_intermediate")),
        gated(numbers.is("gated")),
        shared_gate(numbers.is("shared_gate")) {}

  std::size_t outputs(std::size_t intermediate) const { return intermediate * (gated ? 2 : 1); }
  /// Routed experts, and the shared one if there is any.
  std::size_t networks() const { return experts + (shared > 0 ? 1 : 0); }

  // Weights: the router, the gate of the shared expert, then two of each network.
  std::size_t into(std::size_t network) const { return 1 + (shared_gate ? 1 : 0) + 2 * network; }
  std::size_t out_of(std::size_t network) const { return into(network) + 1; }
};

enum Weight : std::size_t { router, shared_gate };
// What F keeps: shares has a column for each token, with the weight of each network, 0 for those
// not chosen. I replaces shares by the gradients of the scores; of each network, it replaces
// outputs of the first dense layer and results by their gradients. Then come the tokens of each
// network.
enum Keeps : std::size_t { input, shares, routes, first_network };
enum OfNetwork : std::size_t { wide, active, result, of_network };

std::optional<std::string> why_not(const LayerNumbers& numbers, const CellShape&) {
  if (numbers.is("piece")) return "\"piece\" above 0: the moe kernel runs whole layers";
  if (numbers.is("latent")) return "\"latent\" above 0: the moe kernel sends whole tokens";
  if (numbers.is("bias")) return "\"bias\" 1: the moe kernel has none; set it to 0";
  if (numbers["capacity_factor"] == 0) return std::nullopt;
  return "\"capacity_factor\" above 0: the moe kernel drops no token; set it to 0";
}

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  const ExpertSizes sizes(numbers);
  const double spread = spread_of_sum(sizes.hidden);
  std::vector<WeightSpec> specs{{sizes.experts, sizes.hidden, spread}};
  if (sizes.shared_gate) specs.push_back({1, sizes.hidden, spread});
  for (std::size_t network = 0; network < sizes.networks(); ++network) {
    const std::size_t inside = network < sizes.experts ? sizes.inside : sizes.shared;
    specs.push_back({sizes.outputs(inside), sizes.hidden, spread});
    specs.push_back({sizes.hidden, inside, spread_of_sum(inside)});
  }
  return specs;
}

/// The shares of a token's experts from its scores.
void choose(const ExpertSizes& sizes, Eigen::Ref<Eigen::VectorXd> scores) {
  const std::vector<Eigen::Index> chosen = highest(scores, sizes.chosen);
  const double most = scores[chosen.front()];
  Eigen::VectorXd own = Eigen::VectorXd::Zero(scores.size());
  for (const Eigen::Index expert : chosen) own[expert] = std::exp(scores[expert] - most);
  scores = own / own.sum();
}

/// The columns of the tokens that a network runs for.
std::vector<Eigen::Index> tokens_of(const Tensor& routes, std::size_t network) {
  std::vector<Eigen::Index> tokens;
  for (std::size_t column = 0; column < routes.columns; ++column) {
    if (routes.values[column * routes.rows + network] > 0) tokens.push_back(eigen_index(column));
  }
  return tokens;
}

Tensor some_columns(const Tensor& all, const std::vector<Eigen::Index>& columns) {
  Tensor some(all.rows, columns.size());
  matrix(some) = matrix(all)(Eigen::all, columns);
  return some;
}

/// A row for each network: its share of each token's output.
Tensor shares_of(const ExpertSizes& sizes, const LayerRun& run, const Tensor& in) {
  Tensor all(sizes.networks(), in.columns);
  const Eigen::MatrixXd scores = matrix(run.weights[router]) * matrix(in);
  auto own = matrix(all);
  own.topRows(scores.rows()) = scores;
  for (Eigen::Index column = 0; column < own.cols(); ++column) {
    choose(sizes, own.col(column).head(scores.rows()));
  }
  if (sizes.shared == 0) return all;
  auto last = own.row(own.rows() - 1);
  if (sizes.shared_gate) {
    last = (matrix(run.weights[shared_gate]) * matrix(in)).unaryExpr(&sigmoid);
  } else {
    last.setOnes();
  }
  return all;
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  const ExpertSizes sizes(run.numbers);
  kept.resize(first_network + of_network * sizes.networks());
  kept[shares] = kept[routes] = shares_of(sizes, run, in);
  Tensor out(in.rows, in.columns);
  for (std::size_t network = 0; network < sizes.networks(); ++network) {
    Tensor* const own = &kept[first_network + of_network * network];
    const std::vector<Eigen::Index> tokens = tokens_of(kept[routes], network);
    own[wide] = dense(run.weights[sizes.into(network)], some_columns(in, tokens));
    own[active] = activated(sizes.gated, own[wide]);
    own[result] = dense(run.weights[sizes.out_of(network)], own[active]);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const double share = matrix(kept[shares])(eigen_index(network), tokens[i]);
      matrix(out).col(tokens[i]) += share * matrix(own[result]).col(eigen_index(i));
    }
  }
  kept[input] = std::move(in);
  return out;
}

/// Turns the gradients of a token's shares into those of its scores.
void score_gradient(const ExpertSizes& sizes, const Tensor& shares, Tensor& gradients) {
  const auto experts = eigen_index(sizes.experts);
  const auto share = matrix(shares);
  auto own = matrix(gradients);
  for (Eigen::Index column = 0; column < own.cols(); ++column) {
    const auto chosen = share.col(column).head(experts).array();
    auto of_experts = own.col(column).head(experts).array();
    const double mean = (chosen * of_experts).sum();
    of_experts = chosen * (of_experts - mean);
    if (sizes.shared == 0) continue;
    const double gate = share(experts, column);
    own(experts, column) *= sizes.shared_gate ? gate * (1 - gate) : 0;
  }
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  const ExpertSizes sizes(run.numbers);
  const auto above = matrix(gradient);
  Tensor before(gradient.rows, gradient.columns);
  Tensor of_shares(kept[shares].rows, kept[shares].columns);
  for (std::size_t network = 0; network < sizes.networks(); ++network) {
    Tensor* const own = &kept[first_network + of_network * network];
    const std::vector<Eigen::Index> tokens = tokens_of(kept[routes], network);
    auto results = matrix(own[result]);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto at = eigen_index(network);
      auto column = results.col(eigen_index(i));
      matrix(of_shares)(at, tokens[i]) = column.dot(above.col(tokens[i]));
      column = matrix(kept[shares])(at, tokens[i]) * above.col(tokens[i]);
    }
    own[wide] = activation_gradient(sizes.gated, own[wide],
                                    dense_back(run.weights[sizes.out_of(network)], own[result]));
    const Tensor into = dense_back(run.weights[sizes.into(network)], own[wide]);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      matrix(before).col(tokens[i]) += matrix(into).col(eigen_index(i));
    }
  }
  score_gradient(sizes, kept[shares], of_shares);
  kept[shares] = std::move(of_shares);
  const auto scores = matrix(kept[shares]);
  matrix(before) +=
      matrix(run.weights[router]).transpose() * scores.topRows(eigen_index(sizes.experts));
  if (sizes.shared_gate && sizes.shared > 0) {
    matrix(before) += matrix(run.weights[shared_gate]).transpose() * scores.bottomRows(1);
  }
  return before;
}

void weight_gradient(const LayerRun& run, const Tensors& kept, Tensors& sums) {
  const ExpertSizes sizes(run.numbers);
  const auto in = matrix(kept[input]);
  const auto scores = matrix(kept[shares]);  // their gradients, since I
  matrix(sums[router]) += scores.topRows(eigen_index(sizes.experts)) * in.transpose();
  if (sizes.shared_gate && sizes.shared > 0) {
    matrix(sums[shared_gate]) += scores.bottomRows(1) * in.transpose();
  }
  for (std::size_t network = 0; network < sizes.networks(); ++network) {
    const Tensor* const own = &kept[first_network + of_network * network];
    const Tensor into = some_columns(kept[input], tokens_of(kept[routes], network));
    add_dense_sums(own[wide], into, sums[sizes.into(network)]);
    add_dense_sums(own[result], own[active], sums[sizes.out_of(network)]);
  }
}

}  // namespace

constinit extern const KernelEntry moe_kernel_entry{
    .name = "moe",
    .around = ResidualPart::ends,
    .why_not = why_not,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
    .exact = 1U << routes,
};

}  // namespace penstock::moe_kernel_file
