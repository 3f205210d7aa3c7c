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
    Parameter{"latent", "width that routed experts read and write; 0: the hidden size", 0, 0},
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
  double latent = 0;    // width of what is sent to experts
  double arriving = 0;  // expert inputs per token of a device
  bool shared_gate = false;
  double outside = 0;  // tokens per device with only sequence parallelism applied
  double sent = 0;     // tokens per device that it sends to their experts

  double gates() const { return hidden * (all + (shared_gate ? 1 : 0)); }
  /// Weights to the narrower width and back, on each device.
  double projections() const { return latent == hidden ? 0 : 2 * hidden * latent; }
};

/// Whether the devices of a tensor group send different tokens to experts: with sequence
/// parallelism each has its own, and where fewer devices share an expert each takes a share.
bool brings_own_tokens(const CellShape& shape) {
  return shape.sequence_parallel || shape.tensor_of_experts() < shape.tensor;
}

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
  mixture.latent = numbers.is("latent") ? numbers["latent"] : hidden;
  mixture.all = numbers["experts"];
  mixture.arriving = arriving;
  mixture.shared_gate = numbers.is("shared_gate");
  mixture.outside = shape.tokens_outside_tensor();
  mixture.sent = shape.tokens() / (brings_own_tokens(shape) ? shape.tensor : 1);
  const double sharing = shape.tensor_of_experts();  // devices
  mixture.experts = {mixture.latent, numbers.share("expert_intermediate", sharing, "expert_tensor"),
                     gated, shape.tokens() * arriving * sharing / shape.tensor,
                     numbers.share("experts", shape.expert, "expert")};
  mixture.shared = {hidden, numbers.share("shared_intermediate", shape.tensor), gated,
                    shape.tokens()};
  return mixture;
}

void count(LayerWork& work, const LayerNumbers& numbers, const Mixture& mixture,
           const CellShape& shape) {
  const double expert = weights_of(mixture.experts) * shape.tensor_of_experts();
  const double dense =
      weights_of(mixture.shared) * shape.tensor + mixture.gates() + mixture.projections();
  work.parameters = dense + mixture.all * expert;
  work.active_parameters = dense + numbers["chosen"] * expert;
  work.held_parameters = weights_of(mixture.shared) + mixture.gates() + mixture.projections();
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
  const double number = mixture.sent * shape.activation_size;
  const double bytes = number * mixture.arriving * mixture.latent;
  for (const Pass pass : {Pass::forward, Pass::backward_input}) {
    for (const double moved : {2 * bytes, bytes + number * mixture.latent}) {
      work.kernels.push_back(vector_kernel(pass, moved));
      work.kernels.back().routes = true;
    }
    if (shape.expert == 1) continue;
    work.collectives.push_back({.pass = pass,
                                .kind = CollectiveKind::all_to_all,
                                .group = Group::expert,
                                .bytes = bytes,
                                .count = 2,
                                .copies = mixture.arriving});
  }
  const double inputs = bytes * shape.kept_share();  // of experts
  keep(work, inputs + bytes);
  work.weight_bytes = work.input_bytes + inputs;
}

/// Each device projects the tokens that it sends, and what comes back.
void add_projections(LayerWork& work, const Mixture& mixture, const CellShape& shape) {
  if (mixture.projections() == 0) return;
  const double bytes = mixture.sent * mixture.latent * shape.activation_size;
  add_dense(work, {mixture.sent, mixture.hidden, mixture.latent}, shape.activation_size);
  add_dense(work, {mixture.sent, mixture.latent, mixture.hidden}, shape.activation_size);
  keep(work, bytes * shape.kept_share());  // what comes back
  work.weight_bytes = work.weight_bytes.value_or(0) + bytes * shape.kept_share();
  work.pending_weight_bytes += bytes + work.output_bytes;
}

void add_shared(LayerWork& work, const Mixture& mixture, const CellShape& shape) {
  if (mixture.shared.intermediate == 0) return;
  const NamedOperator shared = begin_operator(work, shared_experts);
  const double kept_before = work.kept_bytes;
  const std::size_t before = work.kernels.size();
  add_feed_forward(work, mixture.shared, shape);
  if (mixture.shared_gate) {
    add_dense(work, {mixture.outside, mixture.hidden, 1}, shape.activation_size);
    // The gradient of the gate needs its input.
    keep(work, mixture.outside * mixture.hidden * shape.activation_size);
  }
  for (std::size_t i = before; i < work.kernels.size(); ++i) work.kernels[i].shared = true;
  end_operator(work, shared, work.kept_bytes - kept_before);
}

/// The devices that share an expert gather their tokens for it, and each keeps its share of what
/// comes out.
void add_sharing_group(LayerWork& work, const Mixture& mixture, const CellShape& shape) {
  if (shape.tensor_of_experts() == 1) return;
  const double bytes = mixture.sent * shape.tensor_of_experts() * mixture.arriving *
                       mixture.latent * shape.activation_size;
  gather_in(work, bytes, Group::expert_tensor);
  scatter_in(work, bytes, Group::expert_tensor);
}

/// A tensor group that has all tokens on each device reduces the outputs of routed and shared
/// experts together. Without partial sums it gathers what each device routed its share of.
void add_tensor_group(LayerWork& work, const Mixture& mixture, const CellShape& shape) {
  const bool own = brings_own_tokens(shape), shared = mixture.shared.intermediate > 0;
  if (own) add_sharing_group(work, mixture, shape);
  if (shared || !own) {
    const NamedOperator of_shared = begin_operator(work, shared_experts);
    enter_tensor_group(work, shape, mixture.hidden);
    leave_tensor_group(work, shape, mixture.hidden);
    if (own) end_operator(work, of_shared, 0);
  } else if (!shape.sequence_parallel) {
    const double bytes = shape.tokens() * mixture.hidden * shape.activation_size;
    for (const Pass pass : {Pass::forward, Pass::backward_input}) {
      add_collective(work, pass, CollectiveKind::all_gather, bytes);
    }
  }
}

LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const Mixture mixture = mixture_of(numbers, shape);
  LayerWork work;
  count(work, numbers, mixture, shape);
  work.input_bytes = work.output_bytes = mixture.outside * mixture.hidden * shape.activation_size;
  keep(work, work.input_bytes);
  add_router(work, mixture, shape);
  add_dispatch(work, mixture, shape);
  add_projections(work, mixture, shape);
  const std::size_t before = work.kernels.size();
  add_feed_forward(work, mixture.experts, shape, "moe_activation");
  for (std::size_t i = before; i < work.kernels.size(); ++i) work.kernels[i].grouped = true;
  add_shared(work, mixture, shape);
  add_residual(work, shape, mixture.hidden, false);
  add_tensor_group(work, mixture, shape);
  return work;
}

}  // namespace

constinit extern const LayerKindEntry moe_entry{
    "moe", "mixture of experts: a router sends each token to a few experts", parameters, work};

}  // namespace penstock::moe_file
