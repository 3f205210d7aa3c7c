#include <fmt/format.h>

#include <array>
#include <string_view>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "sim/base/error.hpp"

namespace penstock::moe_file {
namespace {

constexpr std::array parameters{
    Parameter{"hidden", "hidden size", std::nullopt},
    Parameter{"experts", "number of experts", std::nullopt},
    Parameter{"chosen", "experts per token (top-k)", std::nullopt},
    Parameter{"expert_intermediate", "intermediate size of an expert", std::nullopt},
    flag("gated", "1: gated experts, as in SwiGLU", 1),
    Parameter{"shared_intermediate", "intermediate size of the shared experts", 0, 0},
    flag("shared_gate", "1: gate on the shared experts", 0),
    Parameter{"capacity_factor",
              "capacity factor: tokens per expert, over the mean; 0: no token is dropped", 0, 0,
              1e6, false},
    Parameter{"imbalance", "tokens of the busiest device, over the mean, when none is dropped", 1,
              1, 1e6, false}};

/// The operator of the shared experts, with the collectives of their own.
constexpr std::string_view shared_experts = "shared_experts";

/// One layer: a device's experts with their tokens, the shared experts, and the tokens exchanged.
struct Mixture {
  FeedForward experts;  // on a device
  FeedForward shared;   // on a device
  double hidden = 0;
  double all = 0;       // experts of the layer
  double arriving = 0;  // expert inputs per token of a device
  bool shared_gate = false;
  double outside = 0;  // tokens per device with only sequence parallelism applied

  double gates() const { return hidden * (all + (shared_gate ? 1 : 0)); }
};

Mixture mixture_of(const LayerNumbers& numbers, const CellShape& shape) {
  if (numbers["chosen"] > numbers["experts"]) {
    throw InputError("/chosen", fmt::format("it is {}; it must be at most experts, {}",
                                            numbers["chosen"], numbers["experts"]));
  }
  const double hidden = numbers["hidden"];
  const bool gated = numbers.is("gated");
  const bool bounded = numbers["capacity_factor"] > 0;
  const double arriving =
      numbers["chosen"] * (bounded ? numbers["capacity_factor"] : numbers["imbalance"]);
  Mixture mixture;
  mixture.hidden = hidden;
  mixture.all = numbers["experts"];
  mixture.arriving = arriving;
  mixture.shared_gate = numbers.is("shared_gate");
  mixture.outside = shape.tokens_outside_tensor();
  mixture.experts = {hidden, numbers.share("expert_intermediate", shape.tensor), gated,
                     shape.tokens() * arriving, numbers.share("experts", shape.expert, "expert")};
  mixture.shared = {hidden, numbers.share("shared_intermediate", shape.tensor), gated,
                    shape.tokens()};
  return mixture;
}

void count(LayerWork& work, const LayerNumbers& numbers, const Mixture& mixture,
           const CellShape& shape) {
  const double expert = weights_of(mixture.experts) * shape.tensor;
  const double dense = weights_of(mixture.shared) * shape.tensor + mixture.gates();
  work.parameters = dense + mixture.all * expert;
  work.active_parameters = dense + numbers["chosen"] * expert;
  work.held_parameters = weights_of(mixture.shared) + mixture.gates();
  work.held_expert_parameters = mixture.experts.networks * weights_of(mixture.experts);
  count_dense_flops(work, work.active_parameters, tokens_of_all(shape));
}

void keep(LayerWork& work, double bytes) { work.kept_bytes += bytes; }

/// Scores of all experts in fp32; the gradient of the choice needs all of them.
void add_router(LayerWork& work, const Mixture& mixture, const CellShape& shape) {
  const double scores = 4 * mixture.outside * mixture.all;
  add_dense(work, {mixture.outside, mixture.hidden, mixture.all}, shape.activation_size);
  add_vector(work, 2 * scores, 3 * scores);
  work.pending_weight_bytes += scores;
  keep(work, scores);
}

/// Permutes tokens by expert, and back with weights; keeps inputs and outputs.
void add_dispatch(LayerWork& work, const Mixture& mixture, const CellShape& shape) {
  const double number = mixture.outside * shape.activation_size;
  const double bytes = number * mixture.arriving * mixture.hidden;
  for (const Pass pass : {Pass::forward, Pass::backward_input}) {
    work.kernels.push_back(vector_kernel(pass, 2 * bytes));
    work.kernels.push_back(vector_kernel(pass, bytes + number * mixture.hidden));
    if (shape.expert == 1) continue;
    work.collectives.push_back({.pass = pass,
                                .kind = CollectiveKind::all_to_all,
                                .group = Group::expert,
                                .bytes = bytes,
                                .count = 2});
  }
  keep(work, 2 * bytes);
  work.weight_bytes = work.input_bytes + bytes;
}

void add_shared(LayerWork& work, const Mixture& mixture, const CellShape& shape) {
  if (mixture.shared.intermediate == 0) return;
  const NamedOperator shared = begin_operator(work, shared_experts);
  const double kept_before = work.kept_bytes;
  add_feed_forward(work, mixture.shared, shape);
  if (mixture.shared_gate) {
    add_dense(work, {mixture.outside, mixture.hidden, 1}, shape.activation_size);
    // The gradient of the gate needs its input.
    keep(work, mixture.outside * mixture.hidden * shape.activation_size);
  }
  end_operator(work, shared, work.kept_bytes - kept_before);
}

/// With sequence parallelism a tensor group gathers the input of its experts, and that of its
/// shared experts; without it each device has all of it, and the outputs of routed and shared
/// experts are reduced together.
void add_tensor_group(LayerWork& work, const Mixture& mixture, const CellShape& shape) {
  const auto add = [&](double numbers) {
    enter_tensor_group(work, shape, numbers);
    leave_tensor_group(work, shape, numbers);
  };
  if (!shape.sequence_parallel) return add(mixture.hidden);
  add(mixture.hidden * mixture.arriving);
  if (mixture.shared.intermediate == 0) return;
  const NamedOperator shared = begin_operator(work, shared_experts);
  add(mixture.hidden);
  end_operator(work, shared, 0);
}

LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const Mixture mixture = mixture_of(numbers, shape);
  LayerWork work;
  count(work, numbers, mixture, shape);
  work.input_bytes = work.output_bytes = mixture.outside * mixture.hidden * shape.activation_size;
  keep(work, work.input_bytes);
  add_router(work, mixture, shape);
  add_dispatch(work, mixture, shape);
  add_feed_forward(work, mixture.experts, shape, "moe_activation");
  add_shared(work, mixture, shape);
  add_residual(work, shape, mixture.hidden, false);
  add_tensor_group(work, mixture, shape);
  return work;
}

}  // namespace

constinit extern const LayerKindEntry moe_entry{
    "moe", "mixture of experts: a router sends each token to a few experts", parameters, work};

}  // namespace penstock::moe_file
