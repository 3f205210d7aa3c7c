#include <algorithm>
#include <array>

#include "hardware_models/spec/model_spec.hpp"
#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/attention_core.hpp"
#include "validate/kernels/steps/drawn.hpp"
#include "validate/kernels/steps/layer_steps.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock::attention_kernel_file {
namespace {

/// Indices of a layer's optional tensors.
struct Places {
  std::size_t qkv_bias = 2, out_bias = 2, query_gain = 2, key_gain = 2, gate = 2;

  explicit Places(const LayerNumbers& numbers) {
    out_bias += numbers.is("qkv_bias") ? 1U : 0U;
    query_gain = out_bias + (numbers.is("out_bias") ? 1U : 0U);
    key_gain = query_gain + 1;
    gate = query_gain + (numbers.is("qk_norm") ? 2U : 0U);
  }
};

enum Weight : std::size_t { project, bring_together };
// What F keeps. I replaces the projections' outputs by their gradients; `normed` and `scales` of
// normed heads become the gradients of their gains.
enum Keeps : std::size_t {
  input,
  projected,
  probabilities,
  means,
  normed,
  scales,
  out_gradient,
  gates,   // before their sigmoid; I replaces them by their gradients
  values,  // what the gate takes
  kept_count
};

std::optional<std::string> why_not(const LayerNumbers& numbers, const CellShape& shape) {
  const bool causal = numbers.is("causal");
  if (!causal && shape.slices > 1) {
    return "\"causal\" 0: a slice would attend to slices that have not run";
  }
  if (!causal && numbers.is("window")) {
    return "\"window\" without \"causal\": the attention kernel only attends backwards";
  }
  if (numbers.is("plain_qk_norm")) {
    return "\"plain_qk_norm\": norms of the attention kernel have weights";
  }
  return std::nullopt;
}

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  const HeadSizes sizes(numbers);
  std::vector<WeightSpec> specs{
      {sizes.projected(), sizes.hidden, spread_of_sum(sizes.hidden)},
      {sizes.hidden, sizes.query_rows(), spread_of_sum(sizes.query_rows())}};
  if (numbers.is("qkv_bias")) specs.push_back({sizes.projected(), 1, 0.1});
  if (numbers.is("out_bias")) specs.push_back({sizes.hidden, 1, 0.1});
  const bool wide = numbers.is("wide_qk_norm");
  if (numbers.is("qk_norm")) {
    specs.push_back({wide ? sizes.query_rows() : sizes.size, 1, 0.1, 1});
    specs.push_back({wide ? sizes.key_rows() : sizes.size, 1, 0.1, 1});
  }
  if (numbers.is("gate")) {
    specs.push_back({sizes.query_rows(), sizes.hidden, spread_of_sum(sizes.hidden)});
  }
  return specs;
}

/// A part of the projected rows whose columns are normed: all queries or all keys, of a head or of
/// all heads at a time.
struct NormedPart {
  std::size_t first, rows;  // of the projected ones
  std::size_t size;         // of what is normed at a time
  std::size_t gain;

  Tensor columns(const Tensor& all) const {
    Tensor apart(size, rows / size * all.columns);
    matrix(apart) = matrix(all)
                        .middleRows(eigen_index(first), eigen_index(rows))
                        .reshaped(apart.rows, apart.columns);
    return apart;
  }
  void put_back(const Tensor& apart, Tensor& all) const {
    matrix(all).middleRows(eigen_index(first), eigen_index(rows)) =
        matrix(apart).reshaped(eigen_index(rows), eigen_index(all.columns));
  }
};

std::array<NormedPart, 2> normed_parts(const LayerRun& run, const HeadSizes& sizes) {
  const Places places(run.numbers);
  const bool wide = run.numbers.is("wide_qk_norm");
  const std::size_t queries = sizes.query_rows(), keys = sizes.key_rows();
  return {NormedPart{0, queries, wide ? queries : sizes.size, places.query_gain},
          NormedPart{queries, keys, wide ? keys : sizes.size, places.key_gain}};
}

/// Keeps the normed values of queries and keys one below the other, and their scales so.
void norm_heads(const LayerRun& run, const HeadSizes& sizes, Tensors& kept) {
  kept[normed] = Tensor(sizes.query_rows() + sizes.key_rows(), kept[projected].columns);
  kept[scales] = {};
  for (const NormedPart& part : normed_parts(run, sizes)) {
    Tensor columns = part.columns(kept[projected]);
    const Tensor factors = norm_columns(columns, false);
    part.put_back(columns, kept[normed]);
    auto& all = kept[scales].values;
    all.insert(all.end(), factors.values.begin(), factors.values.end());
    matrix(columns).array().colwise() *= matrix(run.weights[part.gain]).col(0).array();
    part.put_back(columns, kept[projected]);
  }
  kept[scales].rows = 1;
  kept[scales].columns = kept[scales].values.size();
}

/// The gradient before the norms; the gradients of their gains replace the normed values.
void norm_heads_gradient(const LayerRun& run, const HeadSizes& sizes, Tensors& kept) {
  Tensor gains(std::max(sizes.query_rows(), sizes.key_rows()), 2);
  std::size_t scale = 0;
  for (const NormedPart& part : normed_parts(run, sizes)) {
    const Tensor values = part.columns(kept[normed]);
    Tensor columns = part.columns(kept[projected]);
    Tensor factors(1, columns.columns);
    std::copy_n(kept[scales].values.begin() + static_cast<std::ptrdiff_t>(scale), columns.columns,
                factors.values.begin());
    scale += columns.columns;
    matrix(gains).col(part.first == 0 ? 0 : 1).head(eigen_index(part.size)) =
        matrix(columns).cwiseProduct(matrix(values)).rowwise().sum();
    matrix(columns).array().colwise() *= matrix(run.weights[part.gain]).col(0).array();
    norm_gradient(values, factors, false, columns);
    part.put_back(columns, kept[projected]);
  }
  kept[normed] = std::move(gains);
  kept[scales] = {};
}

/// What heads bring together passes the gate; both are kept.
void pass_gate(const LayerRun& run, const Tensor& in, Tensors& kept) {
  kept[gates] = dense(run.weights[Places(run.numbers).gate], in);
  kept[values] = kept[means];
  matrix(kept[means]).array() *= matrix(kept[gates]).unaryExpr(&sigmoid).array();
}

/// From the gradient of what passed the gate, that of what came to it.
void gate_gradient(Tensors& kept, Tensor& of_means) {
  const Eigen::ArrayXXd share = matrix(kept[gates]).unaryExpr(&sigmoid).array();
  matrix(kept[gates]).array() =
      matrix(of_means).array() * matrix(kept[values]).array() * share * (1 - share);
  matrix(of_means).array() *= share;
  kept[values] = {};
}

/// Scores are dropped where they weigh values.
HeadSizes sizes_of(const LayerRun& run) {
  HeadSizes sizes(run.numbers);
  sizes.dropout = dropout_of(run);
  if (const auto of_scores = run.numbers.given("score_dropout")) {
    sizes.dropout.probability = *of_scores;
  }
  return sizes;
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  const HeadSizes sizes = sizes_of(run);
  const Places places(run.numbers);
  kept.resize(kept_count);
  kept[projected] = dense(run.weights[project], in, run.weight_if("qkv_bias", places.qkv_bias));
  if (run.numbers.is("qk_norm")) norm_heads(run, sizes, kept);
  kept[means] = attend(sizes, run.cell, kept[projected], run.slices,
                       run.numbers.is("flash") ? nullptr : &kept[probabilities]);
  if (run.numbers.is("gate")) pass_gate(run, in, kept);
  Tensor out =
      dense(run.weights[bring_together], kept[means], run.weight_if("out_bias", places.out_bias));
  drop_out(run, out);
  kept[input] = std::move(in);
  return out;
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  const HeadSizes sizes = sizes_of(run);
  drop_out(run, gradient);
  Tensor of_means = dense_back(run.weights[bring_together], gradient);
  if (run.numbers.is("gate")) gate_gradient(kept, of_means);
  kept[projected] =
      attend_gradient(sizes, run.cell, kept[projected], kept[probabilities], of_means, run.slices);
  kept[probabilities] = {};
  if (run.numbers.is("qk_norm")) norm_heads_gradient(run, sizes, kept);
  Tensor before = dense_back(run.weights[project], kept[projected]);
  if (run.numbers.is("gate")) {
    matrix(before).noalias() +=
        matrix(run.weights[Places(run.numbers).gate]).transpose() * matrix(kept[gates]);
  }
  kept[out_gradient] = std::move(gradient);
  return before;
}

void weight_gradient(const LayerRun& run, const Tensors& kept, Tensors& sums) {
  const Places places(run.numbers);
  // What was projected is its gradient, since I.
  add_dense_sums(kept[projected], kept[input], sums[project],
                 run.numbers.is("qkv_bias") ? &sums[places.qkv_bias] : nullptr);
  add_dense_sums(kept[out_gradient], kept[means], sums[bring_together],
                 run.numbers.is("out_bias") ? &sums[places.out_bias] : nullptr);
  if (run.numbers.is("gate")) add_dense_sums(kept[gates], kept[input], sums[places.gate]);
  if (!run.numbers.is("qk_norm")) return;
  for (const NormedPart& part : normed_parts(run, HeadSizes(run.numbers))) {
    matrix(sums[part.gain]) +=
        matrix(kept[normed]).col(part.first == 0 ? 0 : 1).head(eigen_index(part.size));
  }
}

void drop_selected(Tensors& kept) { kept[probabilities] = {}; }

void recompute_selected(const LayerRun& run, Tensors& kept) {
  if (run.numbers.is("flash")) return;  // keeps none
  const HeadSizes sizes(run.numbers);
  kept[probabilities] = attention_probabilities(sizes, run.cell, kept[projected], run.slices);
}

}  // namespace

constinit extern const KernelEntry attention_kernel_entry{
    .name = "attention",
    .around = ResidualPart::ends,
    .why_not = why_not,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
    .drop_selected = drop_selected,
    .recompute_selected = recompute_selected,
};

}  // namespace penstock::attention_kernel_file
