#include <fmt/format.h>

#include <array>
#include <cmath>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/layers/building/core_attention.hpp"
#include "hardware_models/layers/building/tensor_group.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::array parameters{
    Parameter{"hidden", "numbers of a token", std::nullopt},
    Parameter{"heads", "of queries", std::nullopt},
    Parameter{"kv_heads", "of keys and of values; otherwise as many as heads", absent},
    Parameter{"head_dim", "numbers of a head; otherwise hidden over heads", absent},
    flag("causal", "1: a token sees those before it only", 1),
    Parameter{"window", "tokens that one looks back over; 0: all", 0, 0},
    flag("flash", "1: one kernel that keeps no scores; 0: scores are kept, masked ones too", 1),
    flag("qkv_bias", "1: queries, keys and values have a bias", 0),
    flag("out_bias", "1: the output has a bias", 0),
    flag("qk_norm", "1: heads of queries and of keys are normed", 0),
    Parameter{"dropout", "share dropped of scores and outputs; 0: no dropout", 0, 0, 1, false}};

/// Sizes of a layer, and of what one device has of it.
struct Heads {
  double hidden = 0;
  double size = 0;
  double queries = 0;
  double keys = 0;
  double own_queries = 0;
  double own_keys = 0;

  double projected() const { return size * (queries + 2 * keys); }
  double own_projected() const { return size * (own_queries + 2 * own_keys); }
};

/// Where devices outnumber heads of keys, several hold the same one.
double own_keys(double keys, double tensor) {
  if (std::fmod(keys, tensor) == 0) return keys / tensor;
  if (std::fmod(tensor, keys) == 0) return 1;
  throw InputError(
      "/kv_heads",
      fmt::format("{} cannot be shared by the {} devices of tensor parallelism; one of "
                  "these must divide the other",
                  keys, tensor));
}

double head_size(const LayerNumbers& numbers) {
  if (const auto stated = numbers.given("head_dim")) return *stated;
  const double hidden = numbers["hidden"];
  const double heads = numbers["heads"];
  if (std::fmod(hidden, heads) == 0) return hidden / heads;
  throw InputError("/head_dim", fmt::format("\"head_dim\" is missing, and hidden {} over {} heads "
                                            "is no whole number",
                                            hidden, heads));
}

Heads heads_of(const LayerNumbers& numbers, const CellShape& shape) {
  Heads heads;
  heads.hidden = numbers["hidden"];
  heads.queries = numbers["heads"];
  heads.keys = numbers.given("kv_heads").value_or(heads.queries);
  if (std::fmod(heads.queries, heads.keys) != 0) {
    throw InputError("/kv_heads", fmt::format("{} does not divide the {} heads; it must",
                                              heads.keys, heads.queries));
  }
  heads.size = head_size(numbers);
  heads.own_queries = numbers.share("heads", shape.tensor);
  heads.own_keys = own_keys(heads.keys, shape.tensor);
  return heads;
}

void count_parameters(LayerWork& work, const LayerNumbers& numbers, const Heads& heads) {
  const double around =
      (numbers.is("out_bias") ? heads.hidden : 0) + (numbers.is("qk_norm") ? 2 * heads.size : 0);
  const double inputs = heads.hidden + (numbers.is("qkv_bias") ? 1 : 0);
  const auto count = [&](double projected, double queries) {
    return inputs * projected + queries * heads.size * heads.hidden + around;
  };
  work.parameters = count(heads.projected(), heads.queries);
  work.active_parameters = work.parameters;
  work.held_parameters = count(heads.own_projected(), heads.own_queries);
}

/// Norms keep their input beside what they hand on.
void add_query_key_norms(LayerWork& work, const Heads& heads, double number) {
  const double bytes = number * heads.size * (heads.own_queries + heads.own_keys);
  work.kernels.push_back(vector_kernel(Pass::forward, 2 * bytes));
  work.kernels.push_back(vector_kernel(Pass::backward_input, 3 * bytes));
  work.kept_bytes += bytes;
}

void add_projections(LayerWork& work, const Heads& heads, const CellShape& shape) {
  const double tokens = shape.tokens();
  const double number = tokens * shape.activation_size;
  const double values = heads.size * heads.own_queries;
  add_dense(work, {tokens, heads.hidden, heads.own_projected()}, shape.activation_size);
  add_dense(work, {tokens, values, heads.hidden}, shape.activation_size);
  count_dense_flops(work, heads.hidden * (heads.projected() + heads.size * heads.queries),
                    tokens_of_all(shape));
  work.kept_bytes = work.input_bytes + number * (heads.own_projected() + values);
  work.weight_bytes = work.input_bytes + number * values;
  work.pending_weight_bytes = number * (heads.own_projected() + heads.hidden);
  work.workspace_bytes = number * heads.own_projected();
}

LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const Heads heads = heads_of(numbers, shape);
  LayerWork work;
  count_parameters(work, numbers, heads);
  work.input_bytes = work.output_bytes =
      shape.tokens_outside_tensor() * heads.hidden * shape.activation_size;
  add_projections(work, heads, shape);
  if (numbers.is("qk_norm")) {
    add_query_key_norms(work, heads, shape.tokens() * shape.activation_size);
  }
  work.kept_selective_bytes = work.kept_bytes;
  add_core_attention(work,
                     {.heads = heads.own_queries,
                      .kv_heads = heads.own_keys,
                      .query_size = heads.size,
                      .value_size = heads.size,
                      .causal = numbers.is("causal"),
                      .window = numbers["window"],
                      .flash = numbers.is("flash"),
                      .dropout = numbers.is("dropout")},
                     shape);
  add_residual(work, shape, heads.hidden, numbers.is("dropout"));
  enter_tensor_group(work, shape, heads.hidden);
  leave_tensor_group(work, shape, heads.hidden);
  return work;
}

}  // namespace

constinit extern const LayerKindEntry attention_entry{
    "attention", "multi-head or grouped-query attention, its projections included", parameters,
    work};

}  // namespace penstock
