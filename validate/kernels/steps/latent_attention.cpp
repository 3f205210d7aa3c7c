#include <algorithm>
#include <cmath>

#include "validate/kernels/steps/attention_core.hpp"
#include "validate/kernels/steps/layer_steps.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock {
namespace {

// Queries, keys and values come from normed latents. The last `rope` numbers of each query head,
// and a key that all heads share, are turned by their position.

struct LatentSizes {
  std::size_t hidden, heads, queries, keys, nope, rope, value;

  explicit LatentSizes(const LayerNumbers& numbers)
      : hidden(size_of(numbers, "hidden")),
        heads(size_of(numbers, "heads")),
        queries(size_of(numbers, "q_lora_rank")),
        keys(size_of(numbers, "kv_lora_rank")),
        nope(size_of(numbers, "nope")),
        rope(size_of(numbers, "rope")),
        value(size_of(numbers, "value")) {}

  std::size_t key() const { return nope + rope; }
  /// Heads of queries, keys and values in the attention core; shorter ones end in zeros.
  std::size_t size() const { return std::max(key(), value); }
  std::size_t heads_rows() const { return heads * size(); }
  std::size_t query_source() const { return queries > 0 ? queries : hidden; }
  HeadSizes core(const LayerNumbers& numbers, const Tensor* choice) const {
    const auto number = [](std::size_t count) { return static_cast<double>(count); };
    HeadSizes core(LayerNumbers({{"hidden", number(hidden)},
                                 {"heads", number(heads)},
                                 {"kv_heads", number(heads)},
                                 {"head_dim", number(size())},
                                 {"causal", numbers["causal"]},
                                 {"window", 0}}));
    core.choice = choice;
    return core;
  }
};

enum Weight : std::size_t {
  down,  // to the latents of queries, of keys, and the shared key
  up_keys,
  up_queries,
  bring_together,
  key_gain,
  query_gain
};
// What F keeps. I replaces the projected heads by their gradients, before positions and padding.
enum Keeps : std::size_t {
  input,
  key_latent,
  query_latent,
  key_scale,
  query_scale,
  projected,
  probabilities,
  means,
  latent_gradients,
  gain_gradients,
  out_gradient,
  kept_count
};
static_assert(kept_count == latent_kept);

/// Turns pairs of rows by the position of their column, forward or back.
template <class Rows>
void turn(const KernelCell& cell, Rows part, double direction) {
  const auto pairs = part.rows() / 2;
  for (Eigen::Index column = 0; column < part.cols(); ++column) {
    const std::size_t place = cell.first_token() + static_cast<std::size_t>(column) % cell.tokens;
    for (Eigen::Index pair = 0; pair < pairs; ++pair) {
      const double rate = std::pow(1e4, -static_cast<double>(pair) / static_cast<double>(pairs));
      const double angle = direction * rate * static_cast<double>(place);
      const double a = part(pair, column), b = part(pair + pairs, column);
      part(pair, column) = std::cos(angle) * a - std::sin(angle) * b;
      part(pair + pairs, column) = std::sin(angle) * a + std::cos(angle) * b;
    }
  }
}

Tensor some_rows(const Eigen::MatrixXd& all, std::size_t first, std::size_t count) {
  Tensor part(count, static_cast<std::size_t>(all.cols()));
  matrix(part) = all.middleRows(eigen_index(first), eigen_index(count));
  return part;
}

/// Queries are scaled, since the core divides by the root of its longer heads.
double query_factor(const LatentSizes& sizes) {
  return std::sqrt(static_cast<double>(sizes.size()) / static_cast<double>(sizes.key()));
}

Eigen::MatrixXd scaled(const Tensor& latent, const Tensor& gain) {
  return (matrix(latent).array().colwise() * matrix(gain).col(0).array()).matrix();
}

/// Calls `visit(first row of its query, key and value in the core, head)`.
template <class Visitor>
void for_each_head(const LatentSizes& sizes, Visitor visit) {
  for (std::size_t head = 0; head < sizes.heads; ++head) {
    const std::size_t query = head * sizes.size();
    visit(eigen_index(query), eigen_index(query + sizes.heads_rows()),
          eigen_index(query + 2 * sizes.heads_rows()), eigen_index(head));
  }
}

/// The core's input: heads of queries, keys and values.
Tensor heads_of(const LatentSizes& sizes, const KernelCell& cell, const Eigen::MatrixXd& queries,
                const Eigen::MatrixXd& expanded, const Tensor& shared_key) {
  Tensor all(3 * sizes.heads_rows(), static_cast<std::size_t>(queries.cols()));
  const auto key = eigen_index(sizes.key()), nope = eigen_index(sizes.nope),
             rope = eigen_index(sizes.rope), value = eigen_index(sizes.value);
  auto to = matrix(all);
  for_each_head(sizes, [&](auto query_at, auto key_at, auto value_at, auto head) {
    to.middleRows(query_at, key) = query_factor(sizes) * queries.middleRows(head * key, key);
    const auto own = expanded.middleRows(head * (nope + value), nope + value);
    to.middleRows(key_at, nope) = own.topRows(nope);
    to.middleRows(key_at + nope, rope) = matrix(shared_key);
    to.middleRows(value_at, value) = own.bottomRows(value);
    turn(cell, to.middleRows(query_at + nope, rope), 1);
    turn(cell, to.middleRows(key_at + nope, rope), 1);
  });
  return all;
}

/// Gradients of the projections' outputs.
struct HeadGradients {
  Eigen::MatrixXd queries;
  Eigen::MatrixXd expanded;
  Eigen::MatrixXd shared_key;
};

HeadGradients gradients_of(const LatentSizes& sizes, const KernelCell& cell, Tensor& heads) {
  const auto key = eigen_index(sizes.key()), nope = eigen_index(sizes.nope),
             rope = eigen_index(sizes.rope), value = eigen_index(sizes.value);
  auto from = matrix(heads);
  const auto count = eigen_index(sizes.heads);
  HeadGradients own{Eigen::MatrixXd(count * key, from.cols()),
                    Eigen::MatrixXd(count * (nope + value), from.cols()),
                    Eigen::MatrixXd::Zero(rope, from.cols())};
  for_each_head(sizes, [&](auto query_at, auto key_at, auto value_at, auto head) {
    turn(cell, from.middleRows(query_at + nope, rope), -1);
    turn(cell, from.middleRows(key_at + nope, rope), -1);
    own.queries.middleRows(head * key, key) = query_factor(sizes) * from.middleRows(query_at, key);
    own.expanded.middleRows(head * (nope + value), nope) = from.middleRows(key_at, nope);
    own.expanded.middleRows(head * (nope + value) + nope, value) = from.middleRows(value_at, value);
    own.shared_key += from.middleRows(key_at + nope, rope);
  });
  return own;
}

/// The gradient of a latent before its norm; that of its gain is kept.
Tensor latent_gradient(const Eigen::MatrixXd& above, const Tensor& gain, const Tensor& latent,
                       const Tensor& scale, Eigen::Ref<Eigen::VectorXd> gain_gradient) {
  gain_gradient = above.cwiseProduct(matrix(latent)).rowwise().sum();
  Tensor own(latent.rows, latent.columns);
  matrix(own) = (above.array().colwise() * matrix(gain).col(0).array()).matrix();
  norm_gradient(latent, scale, false, own);
  return own;
}

}  // namespace

std::vector<WeightSpec> latent_weights(const LayerNumbers& numbers) {
  const LatentSizes sizes(numbers);
  const std::size_t results = sizes.heads * sizes.value;
  std::vector<WeightSpec> specs{
      {sizes.queries + sizes.keys + sizes.rope, sizes.hidden, spread_of_sum(sizes.hidden)},
      {sizes.heads * (sizes.nope + sizes.value), sizes.keys, spread_of_sum(sizes.keys)},
      {sizes.heads * sizes.key(), sizes.query_source(), spread_of_sum(sizes.query_source())},
      {sizes.hidden, results, spread_of_sum(results)},
      {sizes.keys, 1, 0.1, 1}};
  if (sizes.queries > 0) specs.push_back({sizes.queries, 1, 0.1, 1});
  return specs;
}

Tensor latent_forward(const LayerRun& run, Tensor in, Tensors& kept, const Tensor* choice) {
  const LatentSizes sizes(run.numbers);
  kept.resize(latent_kept);
  const Eigen::MatrixXd latents = matrix(run.weights[down]) * matrix(in);
  kept[query_latent] = some_rows(latents, 0, sizes.queries);
  kept[key_latent] = some_rows(latents, sizes.queries, sizes.keys);
  const Tensor shared_key = some_rows(latents, sizes.queries + sizes.keys, sizes.rope);
  kept[key_scale] = norm_columns(kept[key_latent], false);
  if (sizes.queries > 0) kept[query_scale] = norm_columns(kept[query_latent], false);
  const Eigen::MatrixXd source = sizes.queries > 0
                                     ? scaled(kept[query_latent], run.weights[query_gain])
                                     : Eigen::MatrixXd(matrix(in));
  kept[projected] = heads_of(
      sizes, run.cell, matrix(run.weights[up_queries]) * source,
      matrix(run.weights[up_keys]) * scaled(kept[key_latent], run.weights[key_gain]), shared_key);
  const Tensor results =
      attend(sizes.core(run.numbers, choice), run.cell, kept[projected], run.slices,
             run.numbers.is("flash") ? nullptr : &kept[probabilities]);
  kept[means] = Tensor(sizes.heads * sizes.value, in.columns);
  const auto value = eigen_index(sizes.value);
  for_each_head(sizes, [&](auto query_at, auto, auto, auto head) {
    matrix(kept[means]).middleRows(head * value, value) =
        matrix(results).middleRows(query_at, value);
  });
  kept[input] = std::move(in);
  return dense(run.weights[bring_together], kept[means]);
}

Tensor latent_input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept,
                             const Tensor* choice) {
  const LatentSizes sizes(run.numbers);
  const Eigen::MatrixXd of_means =
      matrix(run.weights[bring_together]).transpose() * matrix(gradient);
  Tensor of_results(sizes.heads_rows(), gradient.columns);
  const auto value = eigen_index(sizes.value);
  for_each_head(sizes, [&](auto query_at, auto, auto, auto head) {
    matrix(of_results).middleRows(query_at, value) = of_means.middleRows(head * value, value);
  });
  kept[projected] = attend_gradient(sizes.core(run.numbers, choice), run.cell, kept[projected],
                                    kept[probabilities], of_results, run.slices);
  kept[probabilities] = {};
  const HeadGradients heads = gradients_of(sizes, run.cell, kept[projected]);
  const auto queries = eigen_index(sizes.queries), keys = eigen_index(sizes.keys);
  Tensor& latents = kept[latent_gradients] =
      Tensor(sizes.queries + sizes.keys + sizes.rope, gradient.columns);
  Tensor& gains = kept[gain_gradients] = Tensor(sizes.queries + sizes.keys, 1);
  matrix(latents).middleRows(queries, keys) = matrix(latent_gradient(
      matrix(run.weights[up_keys]).transpose() * heads.expanded, run.weights[key_gain],
      kept[key_latent], kept[key_scale], matrix(gains).col(0).tail(keys)));
  matrix(latents).bottomRows(eigen_index(sizes.rope)) = heads.shared_key;
  const Eigen::MatrixXd of_source = matrix(run.weights[up_queries]).transpose() * heads.queries;
  Tensor before(kept[input].rows, kept[input].columns);
  if (sizes.queries > 0) {
    matrix(latents).topRows(queries) =
        matrix(latent_gradient(of_source, run.weights[query_gain], kept[query_latent],
                               kept[query_scale], matrix(gains).col(0).head(queries)));
  } else {
    matrix(before) = of_source;
  }
  matrix(before) += matrix(run.weights[down]).transpose() * matrix(latents);
  kept[projected] = Tensor(static_cast<std::size_t>(heads.queries.rows() + heads.expanded.rows()),
                           gradient.columns);
  matrix(kept[projected]) << heads.queries, heads.expanded;
  kept[out_gradient] = std::move(gradient);
  return before;
}

void latent_weight_gradient(const LayerRun& run, const Tensors& kept, Tensors& sums) {
  const LatentSizes sizes(run.numbers);
  const auto in = matrix(kept[input]);
  add_dense_sums(kept[latent_gradients], kept[input], sums[down]);
  add_dense_sums(kept[out_gradient], kept[means], sums[bring_together]);
  const auto keys = eigen_index(sizes.keys), queries = eigen_index(sizes.queries);
  matrix(sums[key_gain]) += matrix(kept[gain_gradients]).bottomRows(keys);
  if (sizes.queries > 0) {
    matrix(sums[query_gain]) += matrix(kept[gain_gradients]).topRows(queries);
  }
  const auto heads = matrix(kept[projected]);  // gradients of queries, keys and values, since I
  const auto of_queries = eigen_index(sizes.heads * sizes.key());
  matrix(sums[up_keys]).noalias() += heads.bottomRows(heads.rows() - of_queries) *
                                     scaled(kept[key_latent], run.weights[key_gain]).transpose();
  const Eigen::MatrixXd source =
      sizes.queries > 0 ? scaled(kept[query_latent], run.weights[query_gain]) : Eigen::MatrixXd(in);
  matrix(sums[up_queries]).noalias() += heads.topRows(of_queries) * source.transpose();
}

}  // namespace penstock
