#include <fmt/format.h>

#include <algorithm>
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
    flag("bias", "1: bias on the dense layers of routed experts, and on the router", 0),
    Parameter{"shared_intermediate", "intermediate size of the shared experts", 0, 0},
    flag("shared_gate", "1: gate on the shared experts", 0),
    Parameter{"latent", "width that routed experts read and write; 0: the hidden size", 0, 0},
    Parameter{"capacity_factor",
              "capacity factor: tokens per expert, over the mean; 0: no token is dropped", 0, 0,
              1e6, false},
    Parameter{"imbalance",
              "tokens of the busiest of several devices, over the mean, when none is dropped", 1, 1,
              1e6, false},
    Parameter{"piece",
              "0: the whole layer; cut at its exchanges: 1 what comes before them, 2 the routed "
              "experts, 3 what follows",
              0, 0, 3}};

/// What of a layer is counted: all of it, or one piece of a layer that is cut at its exchanges.
struct Pieces {
  bool before;   // router, shared experts
  bool experts;  // those that tokens are sent to
  bool after;    // what comes back is added up

  bool whole() const { return before && after; }
};

Pieces pieces_of(const LayerNumbers& numbers) {
  const double piece = numbers["piece"];
  const auto has = [piece](double one) { return piece == 0 || piece == one; };
  return {has(1), has(2), has(3)};
}

/// The operator of the shared experts, with the collectives of their own.
constexpr std::string_view shared_experts = "shared_experts";

/// One layer: a device's experts with their tokens, the shared experts, and the tokens exchanged.
struct Mixture {
  Pieces pieces{};
  FeedForward experts;  // on a device
  FeedForward shared;   // on a device
  double hidden = 0;
  double all = 0;       // experts of the layer
  double latent = 0;    // width of what is sent to experts
  double arriving = 0;  // expert inputs per token of a device
  bool shared_gate = false;
  bool bias = false;
  double outside = 0;  // tokens per device with only sequence parallelism applied
  double sent = 0;     // tokens per device that it sends to their experts

  double gates() const { return hidden * (all + (shared_gate ? 1 : 0)); }
  /// Weights to the narrower width, and as many back, on each device.
  double projection() const { return latent == hidden ? 0 : hidden * latent; }
};

/// Whether the devices of a tensor group send different tokens to experts: with sequence
/// parallelism each has its own, and where fewer devices share an expert each takes a share.
bool brings_own_tokens(const CellShape& shape) {
  return shape.sequence_parallel || shape.tensor_of_experts() < shape.tensor;
}

/// A token meets an expert at most once: of each, a device of experts / expert of them gets at most
/// min(chosen, experts / expert) inputs, against chosen / expert in the mean.
void check_choice(const LayerNumbers& numbers, double expert) {
  constexpr double rounding = 1 + 1e-9;
  double most = numbers["experts"] / numbers["chosen"];
  if (most < 1) {
    throw InputError("/chosen", fmt::format("it is {}; it must be at most experts, {}",
                                            numbers["chosen"], numbers["experts"]));
  }
  if (expert > 1) most = std::min(most, expert);
  if (numbers["capacity_factor"] > 0 || numbers["imbalance"] <= most * rounding) return;
  throw InputError("/imbalance",
                   fmt::format("it is {:g}; it must be at most experts / chosen and the devices "
                               "that share the experts, {:g}: a token meets an expert at most once",
                               numbers["imbalance"], most));
}

Mixture mixture_of(const LayerNumbers& numbers, const CellShape& shape) {
  check_choice(numbers, shape.expert);
  const double hidden = numbers["hidden"];
  const bool gated = numbers.is("gated");
  const bool bounded = numbers["capacity_factor"] > 0;
  const double imbalance = shape.expert > 1 ? numbers["imbalance"] : 1;
  const double arriving = numbers["chosen"] * (bounded ? numbers["capacity_factor"] : imbalance);
  Mixture mixture;
  mixture.pieces = pieces_of(numbers);
  mixture.hidden = hidden;
  mixture.latent = numbers.is("latent") ? numbers["latent"] : hidden;
  mixture.all = numbers["experts"];
  mixture.arriving = arriving;
  mixture.shared_gate = numbers.is("shared_gate");
  mixture.bias = numbers.is("bias");
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
  const auto& [before, experts, after] = mixture.pieces;
  const double shared = before ? weights_of(mixture.shared) : 0;
  const double expert = experts ? weights_of(mixture.experts) : 0;
  const double gates =
      (before ? mixture.gates() : 0) + mixture.projection() * (double(before) + double(after));
  const double dense = shared * shape.tensor + gates;
  const double all = expert * shape.tensor_of_experts();
  FeedForward whole = mixture.experts;
  whole.intermediate *= shape.tensor_of_experts();
  const bool inside = mixture.bias && experts;
  const double of_router = mixture.bias && before ? mixture.all : 0;
  const double of_whole = all + (inside ? biases_of(whole) : 0);
  work.parameters = dense + of_router + mixture.all * of_whole;
  work.active_parameters = dense + of_router + numbers["chosen"] * of_whole;
  work.held_parameters = shared + gates + of_router;
  work.held_expert_parameters =
      mixture.experts.networks * (expert + (inside ? biases_of(mixture.experts) : 0));
  count_dense_flops(work, dense + numbers["chosen"] * all, tokens_of_all(shape));
}

void keep(LayerWork& work, double bytes) { work.kept_bytes += bytes; }

/// Scores of all experts in fp32; the gradient of the choice needs all of them.
void add_router(LayerWork& work, const Mixture& mixture, const CellShape& shape) {
  const double scores = 4 * mixture.outside * mixture.all;
  add_dense(work, {mixture.outside, mixture.hidden, mixture.all}, shape.activation_size);
  add_vector(work, 2 * scores, 3 * scores);
  work.pending_weight_bytes += scores;
  keep(work, scores);
  work.uncoded_bytes += scores;
}

/// A kernel that permutes tokens, in F and in I.
void add_permutation(LayerWork& work, double bytes, bool returns) {
  for (const Pass pass : {Pass::forward, Pass::backward_input}) {
    work.kernels.push_back(vector_kernel(pass, bytes));
    work.kernels.back().routes = true;
    work.kernels.back().returns = returns;
  }
}

/// Permutes tokens by expert, and back with weights; keeps inputs and outputs. A piece that ends at
/// an exchange hands its tokens on by it, the whole layer has both.
void add_dispatch(LayerWork& work, const Mixture& mixture, const CellShape& shape) {
  const auto& [before, experts, after] = mixture.pieces;
  const double number = mixture.sent * shape.activation_size;
  const double bytes = number * mixture.arriving * mixture.latent;
  if (before) add_permutation(work, 2 * bytes, /*returns=*/false);
  if (after) add_permutation(work, bytes + number * mixture.latent, /*returns=*/true);
  const double exchanges = double(before) + double(experts);
  for (const Pass pass : {Pass::forward, Pass::backward_input}) {
    if (shape.expert == 1 || exchanges == 0) continue;
    auto& collectives = mixture.pieces.whole() ? work.collectives : work.handing_on;
    collectives.push_back({.pass = pass,
                           .kind = CollectiveKind::all_to_all,
                           .group = Group::expert,
                           .bytes = bytes,
                           .count = exchanges,
                           .copies = mixture.arriving});
  }
  const double inputs = experts ? bytes * shape.kept_share() : 0;
  keep(work, inputs + (after ? bytes : 0));
  work.uncoded_bytes += narrowed(shape.kept_share(), inputs);
  work.weight_bytes = (before ? work.input_bytes : 0) + inputs;
  if (!mixture.pieces.whole() && !after) work.output_bytes = bytes;
}

/// Each device projects the tokens that it sends, and what comes back.
void add_projections(LayerWork& work, const Mixture& mixture, const CellShape& shape) {
  if (mixture.projection() == 0) return;
  const auto& [before, experts, after] = mixture.pieces;
  const double bytes = mixture.sent * mixture.latent * shape.activation_size;
  if (before) {
    add_dense(work, {mixture.sent, mixture.hidden, mixture.latent}, shape.activation_size);
    work.pending_weight_bytes += bytes;
  }
  if (!after) return;
  add_dense(work, {mixture.sent, mixture.latent, mixture.hidden}, shape.activation_size);
  keep(work, bytes * shape.kept_share());  // what comes back
  work.uncoded_bytes += narrowed(shape.kept_share(), bytes * shape.kept_share());
  work.weight_bytes = work.weight_bytes.value_or(0) + bytes * shape.kept_share();
  work.pending_weight_bytes += work.output_bytes;
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

/// Biases of the experts' outputs. The first dense layer adds its own; these count by the weight of
/// the choice, so each expert multiplies and adds in single precision, and what they give is joined
/// and rounded again.
void add_biases(LayerWork& work, const Mixture& mixture, const CellShape& shape) {
  if (!mixture.bias) return;
  constexpr double single = 4;  // bytes
  const double numbers = mixture.experts.tokens * mixture.latent;
  const double forward =
      single + (2 * single + shape.activation_size) + 2 * single + (single + shape.activation_size);
  const double rounded = single + shape.activation_size;  // from one precision to the other
  const double backward = 2 * rounded + 2 * shape.activation_size + 2 * (3 * single);
  add_vector(work, numbers * forward, numbers * backward);
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

/// The tensor group before the experts of a layer, or behind them. With all tokens on each device
/// it reduces the outputs of routed and shared experts together; without partial sums it gathers
/// what each device routed its share of.
void add_tensor_group(LayerWork& work, const Mixture& mixture, const CellShape& shape,
                      bool behind) {
  const bool own = brings_own_tokens(shape), shared = mixture.shared.intermediate > 0;
  if (shared || !own) {
    const NamedOperator of_shared = begin_operator(work, shared_experts);
    if (behind) {
      leave_tensor_group(work, shape, mixture.hidden);
    } else {
      enter_tensor_group(work, shape, mixture.hidden);
    }
    if (own) end_operator(work, of_shared, 0);
  } else if (behind && !shape.sequence_parallel) {
    const double bytes = shape.tokens() * mixture.hidden * shape.activation_size;
    for (const Pass pass : {Pass::forward, Pass::backward_input}) {
      add_collective(work, pass, CollectiveKind::all_gather, bytes);
    }
  }
}

LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const Mixture mixture = mixture_of(numbers, shape);
  const auto& [before, experts, after] = mixture.pieces;
  LayerWork work;
  count(work, numbers, mixture, shape);
  work.input_bytes = work.output_bytes = mixture.outside * mixture.hidden * shape.activation_size;
  if (before) {
    keep(work, work.input_bytes);
    add_router(work, mixture, shape);
  }
  add_dispatch(work, mixture, shape);
  add_projections(work, mixture, shape);
  if (experts) {
    const std::size_t first = work.kernels.size();
    add_feed_forward(work, mixture.experts, shape, "moe_activation");
    for (std::size_t i = first; i < work.kernels.size(); ++i) work.kernels[i].grouped = true;
    add_biases(work, mixture, shape);
  }
  if (before) add_shared(work, mixture, shape);
  if (after) add_residual(work, shape, mixture.hidden, false);
  if (experts && brings_own_tokens(shape)) add_sharing_group(work, mixture, shape);
  if (before) add_tensor_group(work, mixture, shape, /*behind=*/false);
  if (after) add_tensor_group(work, mixture, shape, /*behind=*/true);
  return work;
}

}  // namespace

constinit extern const LayerKindEntry moe_entry{
    "moe", "mixture of experts: a router sends each token to a few experts", parameters, work};

}  // namespace penstock::moe_file
