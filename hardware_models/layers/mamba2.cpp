#include <array>

#include "hardware_models/layers/building/recurrence.hpp"
#include "hardware_models/layers/registry.hpp"

namespace penstock::mamba2_file {
namespace {

constexpr std::array parameters{
    Parameter{"hidden", "hidden size", std::nullopt},
    Parameter{"heads", "heads", std::nullopt},
    Parameter{"head_dim", "size of a head", std::nullopt},
    Parameter{"state", "size of the state of each number of a head", std::nullopt},
    Parameter{"groups", "groups of heads that share what goes into the state and out of it", 1},
    Parameter{"conv", "tokens that the convolution reaches", 4},
    flag("conv_bias", "1: bias on the convolution", 1),
    flag("in_bias", "1: bias on the projection of the input", 0),
    flag("out_bias", "1: bias on the output", 0),
    flag("norm", "1: gated norm before the output; 0: the gate alone", 1),
    Parameter{"chunk", "tokens whose products are matrices", 256}};

/// Sizes of a layer, or of one device's shard.
struct Heads {
  double heads, size, state, groups;

  double inner() const { return heads * size; }
  double convolved() const { return inner() + 2 * groups * state; }
  /// The gate, what is convolved, and a step for each head.
  double projected() const { return inner() + convolved() + heads; }
};

double count(const LayerNumbers& numbers, const Heads& own) {
  const double hidden = numbers["hidden"];
  const double of_a_head = 3;  // decay, skip, and bias of the step
  return (hidden + numbers["in_bias"]) * own.projected() +
         own.convolved() * (numbers["conv"] + numbers["conv_bias"]) + of_a_head * own.heads +
         numbers["norm"] * own.inner() + hidden * own.inner() + numbers["out_bias"] * hidden;
}

/// The matrix products of a chunk (state space duality): scores of its tokens and what they weigh,
/// the state it adds, and what the state before it gives.
std::array<MatrixProduct, 4> products_of(const Heads& own, double chunk) {
  return {{{chunk, own.state, chunk, own.groups},
           {chunk, chunk, own.size, own.heads},
           {own.state, chunk, own.size, own.heads},
           {chunk, own.state, own.size, own.heads}}};
}

LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const Heads whole{numbers["heads"], numbers["head_dim"], numbers["state"], numbers["groups"]};
  Heads own = whole;
  own.heads = numbers.share("heads", shape.tensor);
  own.groups = shared_heads("groups", whole.groups, shape.tensor);
  LayerWork work;
  work.parameters = work.active_parameters = count(numbers, whole);
  work.held_parameters = count(numbers, own);
  const double chunk = numbers["chunk"];
  add_recurrence(work,
                 {.hidden = numbers["hidden"],
                  .projected = own.projected(),
                  .convolved = own.convolved(),
                  .inner = own.inner(),
                  .state = own.inner() * own.state,
                  .chunk = chunk},
                 products_of(own, chunk), shape);
  const double tokens = tokens_of_all(shape);
  count_dense_flops(work, numbers["hidden"] * (whole.projected() + whole.inner()), tokens);
  // Of each number of the state: its decay, what comes in, and what goes out.
  constexpr double of_the_scan = 7;
  work.forward_flops += of_the_scan * tokens * whole.inner() * whole.state;
  work.backward_flops += 2 * of_the_scan * tokens * whole.inner() * whole.state;
  return work;
}

}  // namespace

constinit extern const LayerKindEntry mamba2_entry{
    "mamba2", "Mamba-2: a state space whose heads decay by the token", parameters, work};

}  // namespace penstock::mamba2_file
