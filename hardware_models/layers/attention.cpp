#include <fmt/format.h>

#include <array>
#include <cmath>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/layers/building/core_attention.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "sim/base/error.hpp"

namespace penstock::attention_file {
namespace {

constexpr std::array parameters{
    Parameter{"hidden", "hidden size", std::nullopt},
    Parameter{"heads", "query heads", std::nullopt},
    Parameter{"kv_heads", "key and value heads; default heads", absent},
    Parameter{"head_dim", "size of a head; default hidden / heads", absent},
    flag("causal", "1: causal mask", 1),
    Parameter{"window", "sliding window in tokens; 0: all", 0, 0},
    flag("flash", "1: flash attention, scores not kept; 0: all scores kept", 1),
    flag("qkv_bias", "1: bias on queries, keys and values", 0),
    flag("out_bias", "1: bias on the output", 0),
    flag("qk_norm", "1: norm on query and key heads", 0),
    flag("wide_qk_norm", "1: each such norm spans all heads of a token", 0),
    flag("plain_qk_norm", "1: such norms have no weights", 0),
    flag("gate", "1: a gate, as wide as the queries, on what heads bring together", 0),
    Parameter{"dropout", "dropout probability on scores and outputs", 0, 0, 1, false},
    Parameter{"score_dropout", "the same on scores; default dropout", absent, 0, 1, false}};

/// Sizes of a layer, and of one device's shard.
struct Heads {
  double hidden = 0;
  double size = 0;
  double queries = 0;
  double keys = 0;
  double own_queries = 0;
  double own_keys = 0;
  bool gate = false;

  double projected() const { return size * (queries * (gate ? 2 : 1) + 2 * keys); }
  double own_projected() const { return size * (own_queries * (gate ? 2 : 1) + 2 * own_keys); }
};

double head_size(const LayerNumbers& numbers) {
  if (const auto stated = numbers.given("head_dim")) return *stated;
  const double hidden = numbers["hidden"];
  const double heads = numbers["heads"];
  if (std::fmod(hidden, heads) == 0) return hidden / heads;
  throw InputError(
      "/head_dim",
      fmt::format("\"head_dim\" is missing, and hidden {} / {} heads is not a whole number", hidden,
                  heads));
}

Heads heads_of(const LayerNumbers& numbers, const CellShape& shape) {
  Heads heads;
  heads.hidden = numbers["hidden"];
  heads.queries = numbers["heads"];
  heads.keys = numbers.given("kv_heads").value_or(heads.queries);
  if (std::fmod(heads.queries, heads.keys) != 0) {
    throw InputError("/kv_heads",
                     fmt::format("{} does not divide the {} heads", heads.keys, heads.queries));
  }
  heads.size = head_size(numbers);
  heads.gate = numbers.is("gate");
  heads.own_queries = numbers.share("heads", shape.tensor);
  heads.own_keys = shared_heads("kv_heads", heads.keys, shape.tensor);
  return heads;
}

void count_parameters(LayerWork& work, const LayerNumbers& numbers, const Heads& heads) {
  const double around = numbers.is("out_bias") ? heads.hidden : 0;
  const double inputs = heads.hidden + (numbers.is("qkv_bias") ? 1 : 0);
  const auto gains = [&](double queries, double keys) {
    if (!numbers.is("qk_norm") || numbers.is("plain_qk_norm")) return 0.0;
    return heads.size * (numbers.is("wide_qk_norm") ? queries + keys : 2);
  };
  const auto count = [&](double projected, double queries, double keys) {
    return inputs * projected + queries * heads.size * heads.hidden + gains(queries, keys) + around;
  };
  work.parameters = count(heads.projected(), heads.queries, heads.keys);
  work.active_parameters = work.parameters;
  work.held_parameters = count(heads.own_projected(), heads.own_queries, heads.own_keys);
}

/// Norms keep their input in addition to their output. Those over all heads add up what the devices
/// of a tensor group have, for queries and for keys.
void add_query_key_norms(LayerWork& work, const LayerNumbers& numbers, const Heads& heads,
                         const CellShape& shape) {
  const double number = shape.tokens() * shape.activation_size;
  const double bytes = number * heads.size * (heads.own_queries + heads.own_keys);
  add_vector(work, 2 * bytes, 3 * bytes);
  work.kept_bytes += bytes;
  if (!numbers.is("wide_qk_norm") || shape.tensor == 1) return;
  constexpr double sums = 2, sum_bytes = 4;
  for (const Pass pass : {Pass::forward, Pass::backward_input}) {
    add_collective(work, pass, CollectiveKind::all_reduce, sums * sum_bytes * shape.tokens());
  }
}

/// The gate is kept, and its product, which the output projection reads.
void add_gate(LayerWork& work, const Heads& heads, const CellShape& shape) {
  const double bytes = shape.tokens() * shape.activation_size * heads.size * heads.own_queries;
  add_vector(work, 3 * bytes, 5 * bytes);
  work.kept_bytes += bytes * shape.kept_share();
  work.uncoded_bytes += narrowed(shape.kept_share(), bytes * shape.kept_share());
}

void add_projections(LayerWork& work, const LayerNumbers& numbers, const Heads& heads,
                     const CellShape& shape) {
  const double tokens = shape.tokens();
  const double number = tokens * shape.activation_size;
  const double values = heads.size * heads.own_queries;
  add_dense(work, {tokens, heads.hidden, heads.own_projected()}, shape.activation_size);
  add_dense(work, {tokens, values, heads.hidden}, shape.activation_size);
  count_dense_flops(work, heads.hidden * (heads.projected() + heads.size * heads.queries),
                    tokens_of_all(shape));
  const double input = work.input_bytes * shape.kept_share();
  // The attention kernel keeps its output too.
  const double cast = shape.kept_share() < 1 ? number * values * shape.kept_share() : 0;
  const double kernel_share = numbers.is("flash") ? shape.attention_share : 1;
  const double of_kernel = number * kernel_share * (heads.own_projected() + values);
  work.kept_bytes = input + of_kernel + cast;
  work.uncoded_bytes =
      narrowed(shape.kept_share(), input + cast) + narrowed(kernel_share, of_kernel);
  work.weight_bytes = input + (cast > 0 ? cast : number * values);
  work.pending_weight_bytes = number * (heads.own_projected() + heads.hidden);
  work.workspace_bytes = number * heads.own_projected();
}

LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const Heads heads = heads_of(numbers, shape);
  LayerWork work;
  count_parameters(work, numbers, heads);
  work.input_bytes = work.output_bytes =
      shape.tokens_outside_tensor() * heads.hidden * shape.activation_size;
  add_projections(work, numbers, heads, shape);
  if (numbers.is("qk_norm")) add_query_key_norms(work, numbers, heads, shape);
  add_core_attention(work,
                     {.heads = heads.own_queries,
                      .kv_heads = heads.own_keys,
                      .query_size = heads.size,
                      .value_size = heads.size,
                      .causal = numbers.is("causal"),
                      .window = numbers["window"],
                      .flash = numbers.is("flash"),
                      .dropout = numbers.given("score_dropout").value_or(numbers["dropout"]) > 0},
                     shape);
  if (heads.gate) add_gate(work, heads, shape);
  add_residual(work, shape, heads.hidden, numbers.is("dropout"));
  enter_tensor_group(work, shape, heads.hidden);
  leave_tensor_group(work, shape, heads.hidden);
  return work;
}

}  // namespace

constinit extern const LayerKindEntry attention_entry{
    "attention", "multi-head or grouped-query attention with its projections", parameters, work};

}  // namespace penstock::attention_file
