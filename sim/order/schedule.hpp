#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/numbers.hpp"

namespace penstock {

/// What is done. The first eight are cells of a schedule, run by a rank; the others are what a
/// lowered plan adds, run by a link.
enum class Pass : std::uint8_t {
  forward,          // F
  backward,         // B: input and weight gradient together
  backward_input,   // I: input gradient only
  backward_weight,  // W: weight gradient only, after its I
  recompute,        // R: the forward pass again, to have its activations back
  update,           // U: the optimiser step of a stage
  evict,            // E: an activation leaves for another rank or the host
  load,             // L: and comes back
  send_activation,  // the output of F travels to the next stage
  send_gradient,    // the input gradient travels to the stage before
  send_evicted,     // an activation that E put out travels to where it is kept
  send_loaded,      // and back, for L
  reduce_gradient,  // weight gradients are summed over the data replicas
  gather_weights,   // each replica's share of the new weights goes to all of them
  tie_gradient,     // the gradient of tied embeddings goes to the other end of the pipeline
};
constexpr std::size_t pass_count = 15;

/// F, B, I, W or R: what runs the layers of a stage.
constexpr bool runs_layers(Pass pass) { return pass <= Pass::recompute; }
constexpr bool is_transfer(Pass pass) { return pass >= Pass::send_activation; }
/// A transfer that follows the last weight gradient of a stage.
constexpr bool is_tail(Pass pass) { return pass >= Pass::reduce_gradient; }
/// What a stage hands to its neighbour, which reads it at once: what blocking sends and rendezvous
/// are about.
constexpr bool passes_on(Pass pass) {
  return pass == Pass::send_activation || pass == Pass::send_gradient;
}
/// B or I: what hands a gradient to the stage before.
constexpr bool gives_gradient(Pass pass) {
  return pass == Pass::backward || pass == Pass::backward_input;
}
/// B or W: what ends the use of an activation.
constexpr bool ends_activation(Pass pass) {
  return pass == Pass::backward || pass == Pass::backward_weight;
}

/// E or L: what asks for a transfer of an activation that was kept.
constexpr bool moves_stash(Pass pass) { return pass == Pass::evict || pass == Pass::load; }
/// R, B or I: what reads the activation that F kept.
constexpr bool reads_activation(Pass pass) {
  return pass == Pass::recompute || gives_gradient(pass);
}

/// "F", "B", "I", "W", "R", "U", "E", "L", "SEND_F", "SEND_B", "SEND_E", "SEND_L", "REDUCE",
/// "GATHER", "TIE": PyTorch's letters where it has them.
std::string_view letters(Pass pass);

/// One thing that a rank does. `with_next` joins it and the action after it to one overlap cell.
struct Action {
  Pass pass;
  bool with_next = false;
  Stage stage;
  Microbatch microbatch;

  constexpr Action(Pass the_pass, Stage the_stage, Microbatch the_microbatch, bool joined = false)
      : pass(the_pass), with_next(joined), stage(the_stage), microbatch(the_microbatch) {}
  friend constexpr bool operator==(const Action&, const Action&) = default;
};

/// "2F5": stage, pass, microbatch.
std::string text(const Action& action);

/// Which version of its weights a microbatch uses, in its backward as in its forward.
enum class WeightUse : std::uint8_t {
  flushed,  // there is one: weights change when no microbatch is in flight
  newest,   // the newest that there is when its F starts
  delayed,  // the one so many updates older than what its own update starts from
};
constexpr std::string_view name(WeightUse use) {
  constexpr std::array<std::string_view, 3> names{"flushed", "newest", "delayed"};
  return names[static_cast<std::size_t>(use)];
}

/// How an order uses weights.
struct WeightRule {
  WeightUse use = WeightUse::flushed;
  std::uint32_t delay = 0;  // of `delayed`: how many updates
  friend bool operator==(const WeightRule&, const WeightRule&) = default;
};

/// For each rank its actions in order.
class Schedule {
 public:
  Schedule() = default;
  explicit Schedule(std::uint32_t ranks) : orders_(ranks) {}

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(orders_.size()); }
  std::vector<Action>& on(Rank rank) { return orders_[index(rank)]; }
  const std::vector<Action>& on(Rank rank) const { return orders_[index(rank)]; }
  std::uint64_t actions() const;
  /// Whether any rank has a B or an I.
  bool has_backward() const;
  /// Whether any rank runs such a pass.
  bool has(Pass pass) const;

  /// Where what a rank evicts is kept: on another rank, or in its host's memory.
  Rank keeper_of(Rank rank) const { return keepers_.empty() ? host_memory : keepers_[index(rank)]; }
  /// One keeper a rank.
  void set_keepers(std::vector<Rank> keepers) { keepers_ = std::move(keepers); }

  const WeightRule& weights() const { return weights_; }
  void set_weights(WeightRule weights) { weights_ = weights; }

  friend bool operator==(const Schedule&, const Schedule&) = default;

 private:
  std::vector<std::vector<Action>> orders_;
  std::vector<Rank> keepers_;  // empty: the host's memory for every rank
  WeightRule weights_;
};

/// How the two parts of an overlap cell run: one after the other in listed order, or as one unit as
/// long as the longer of them.
enum class Overlap : std::uint8_t { serial, fused };

}  // namespace penstock
