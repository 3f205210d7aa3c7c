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
  std::size_t qkv_bias = 2, out_bias = 2, query_gain = 2, key_gain = 2;

  explicit Places(const LayerNumbers& numbers) {
    out_bias += numbers.is("qkv_bias") ? 1U : 0U;
    query_gain = out_bias + (numbers.is("out_bias") ? 1U : 0U);
    key_gain = query_gain + 1;
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
  return std::nullopt;
}

std::size_t rows(const LayerNumbers& numbers) { return size_of(numbers, "hidden"); }

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  const HeadSizes sizes(numbers);
  std::vector<WeightSpec> specs{
      {sizes.projected(), sizes.hidden, spread_of_sum(sizes.hidden)},
      {sizes.hidden, sizes.query_rows(), spread_of_sum(sizes.query_rows())}};
  if (numbers.is("qkv_bias")) specs.push_back({sizes.projected(), 1, 0.1});
  if (numbers.is("out_bias")) specs.push_back({sizes.hidden, 1, 0.1});
  if (numbers.is("qk_norm")) specs.insert(specs.end(), 2, {sizes.size, 1, 0.1, 1});
  return specs;
}

/// Query and key heads of all tokens, one per column.
Tensor heads_of(const HeadSizes& sizes, const Tensor& all) {
  const std::size_t heads = sizes.queries + sizes.keys;
  Tensor apart(sizes.size, heads * all.columns);
  matrix(apart) = matrix(all)
                      .topRows(static_cast<Eigen::Index>(heads * sizes.size))
                      .reshaped(apart.rows, apart.columns);
  return apart;
}

void put_back(const HeadSizes& sizes, const Tensor& heads, Tensor& all) {
  const auto rows = static_cast<Eigen::Index>((sizes.queries + sizes.keys) * sizes.size);
  matrix(all).topRows(rows) = matrix(heads).reshaped(rows, all.columns);
}

/// Calls `visit(column of a head, its gain)` for all normed heads.
template <class Visitor>
void for_each_head(const HeadSizes& sizes, const Places& places, std::size_t columns,
                   Visitor visit) {
  for (std::size_t column = 0; column < columns; ++column) {
    const bool query = column % (sizes.queries + sizes.keys) < sizes.queries;
    visit(static_cast<Eigen::Index>(column), query ? places.query_gain : places.key_gain);
  }
}

void norm_heads(const LayerRun& run, const HeadSizes& sizes, Tensors& kept) {
  const Places places(run.numbers);
  Tensor heads = heads_of(sizes, kept[projected]);
  kept[scales] = norm_columns(heads, false);
  kept[normed] = heads;
  for_each_head(sizes, places, heads.columns, [&](Eigen::Index column, std::size_t gain) {
    matrix(heads).col(column).array() *= matrix(run.weights[gain]).col(0).array();
  });
  put_back(sizes, heads, kept[projected]);
}

/// The gradient before the norms; the gradients of their gains replace the normed values.
void norm_heads_gradient(const LayerRun& run, const HeadSizes& sizes, Tensors& kept) {
  const Places places(run.numbers);
  Tensor heads = heads_of(sizes, kept[projected]);
  Tensor gains(sizes.size, 2);
  for_each_head(sizes, places, heads.columns, [&](Eigen::Index column, std::size_t gain) {
    auto own = matrix(heads).col(column).array();
    matrix(gains).col(gain == places.key_gain ? 1 : 0).array() +=
        own * matrix(kept[normed]).col(column).array();
    own *= matrix(run.weights[gain]).col(0).array();
  });
  norm_gradient(kept[normed], kept[scales], false, heads);
  put_back(sizes, heads, kept[projected]);
  kept[normed] = std::move(gains);
  kept[scales] = {};
}

/// Scores are dropped where they weigh values.
HeadSizes sizes_of(const LayerRun& run) {
  HeadSizes sizes(run.numbers);
  sizes.dropout = dropout_of(run);
  return sizes;
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  const HeadSizes sizes = sizes_of(run);
  const Places places(run.numbers);
  kept.resize(kept_count);
  kept[projected] = Tensor(sizes.projected(), in.columns);
  auto all = matrix(kept[projected]);
  all.noalias() = matrix(run.weights[project]) * matrix(in);
  if (run.numbers.is("qkv_bias")) all.colwise() += matrix(run.weights[places.qkv_bias]).col(0);
  if (run.numbers.is("qk_norm")) norm_heads(run, sizes, kept);
  kept[means] = attend(sizes, run.cell, kept[projected], run.slices,
                       run.numbers.is("flash") ? nullptr : &kept[probabilities]);
  Tensor out(in.rows, in.columns);
  matrix(out).noalias() = matrix(run.weights[bring_together]) * matrix(kept[means]);
  if (run.numbers.is("out_bias")) {
    matrix(out).colwise() += matrix(run.weights[places.out_bias]).col(0);
  }
  drop_out(run, out);
  kept[input] = std::move(in);
  return out;
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  const HeadSizes sizes = sizes_of(run);
  drop_out(run, gradient);
  Tensor of_means(sizes.query_rows(), gradient.columns);
  matrix(of_means).noalias() = matrix(run.weights[bring_together]).transpose() * matrix(gradient);
  kept[projected] =
      attend_gradient(sizes, run.cell, kept[projected], kept[probabilities], of_means, run.slices);
  kept[probabilities] = {};
  if (run.numbers.is("qk_norm")) norm_heads_gradient(run, sizes, kept);
  Tensor before(kept[input].rows, kept[input].columns);
  matrix(before).noalias() = matrix(run.weights[project]).transpose() * matrix(kept[projected]);
  kept[out_gradient] = std::move(gradient);
  return before;
}

void weight_gradient(const LayerRun& run, const Tensors& kept, Tensors& sums) {
  const Places places(run.numbers);
  const auto inner = matrix(kept[projected]);  // its gradient, since I
  const auto outer = matrix(kept[out_gradient]);
  matrix(sums[project]).noalias() += inner * matrix(kept[input]).transpose();
  matrix(sums[bring_together]).noalias() += outer * matrix(kept[means]).transpose();
  if (run.numbers.is("qkv_bias")) matrix(sums[places.qkv_bias]) += inner.rowwise().sum();
  if (run.numbers.is("out_bias")) matrix(sums[places.out_bias]) += outer.rowwise().sum();
  if (!run.numbers.is("qk_norm")) return;
  matrix(sums[places.query_gain]) += matrix(kept[normed]).col(0);
  matrix(sums[places.key_gain]) += matrix(kept[normed]).col(1);
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
    .rows_in = rows,
    .rows_out = rows,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
    .drop_selected = drop_selected,
    .recompute_selected = recompute_selected,
};

}  // namespace penstock::attention_kernel_file
