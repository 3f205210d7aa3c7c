#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/numbers.hpp"

namespace penstock {

/// The kind of an action or transfer. The first eight are cells of a schedule, run by a rank;
/// lowering adds the others, run by a link.
enum class Pass : std::uint8_t {
  forward,          // F
  backward,         // B: input and weight gradient together
  backward_input,   // I: input gradient only
  backward_weight,  // W: weight gradient only, after its I
  recompute,        // R: the forward again, to restore its activations
  update,           // U: the optimiser step of a stage
  evict,            // E: moves an activation to another rank or the host
  load,             // L: moves it back
  send_activation,  // output of F to the next stage
  send_gradient,    // input gradient to the previous stage
  send_evicted,     // an evicted activation to its keeper
  send_loaded,      // and back, for L
  reduce_gradient,  // all-reduce or reduce-scatter of weight gradients over data replicas
  gather_weights,   // all-gather of updated weights
  tie_gradient,     // gradient of tied embeddings to the other end of the pipeline
  reduce_early,     // the buckets of reduce_gradient that are full before the backward ends
};
constexpr std::size_t pass_count = 16;

/// F, B, I, W or R: runs the layers of a stage.
constexpr bool runs_layers(Pass pass) { return pass <= Pass::recompute; }
constexpr bool is_transfer(Pass pass) { return pass >= Pass::send_activation; }
/// A transfer after the last weight gradient of a stage, or beside it.
constexpr bool is_tail(Pass pass) { return pass >= Pass::reduce_gradient; }
/// One of the transfers that reduce weight gradients.
constexpr bool reduces_gradient(Pass pass) {
  return pass == Pass::reduce_gradient || pass == Pass::reduce_early;
}
/// A tensor for a neighbour stage: the transfers that blocking sends and rendezvous apply to.
constexpr bool passes_on(Pass pass) {
  return pass == Pass::send_activation || pass == Pass::send_gradient;
}
/// B or I: produces a gradient for the previous stage.
constexpr bool gives_gradient(Pass pass) {
  return pass == Pass::backward || pass == Pass::backward_input;
}
/// B or W: the last use of an activation.
constexpr bool ends_activation(Pass pass) {
  return pass == Pass::backward || pass == Pass::backward_weight;
}

/// E or L: requests a transfer of a kept activation.
constexpr bool moves_stash(Pass pass) { return pass == Pass::evict || pass == Pass::load; }
/// R, B or I: reads the activation kept by F.
constexpr bool reads_activation(Pass pass) {
  return pass == Pass::recompute || gives_gradient(pass);
}

/// "F", "B", "I", "W", "R", "U", "E", "L", "SEND_F", "SEND_B", "SEND_E", "SEND_L", "REDUCE",
/// "GATHER", "TIE", "REDUCE_EARLY": PyTorch's letters where it has them.
std::string_view letters(Pass pass);

/// One action of a rank. `with_next` joins it and the next action into an overlap cell.
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

/// The weight version of a microbatch, for forward and backward alike.
enum class WeightUse : std::uint8_t {
  flushed,  // one version: weights change when no microbatch is in flight
  newest,   // the newest version when its F starts
  delayed,  // this many updates older than the base of its own update
};
constexpr std::string_view name(WeightUse use) {
  constexpr std::array<std::string_view, 3> names{"flushed", "newest", "delayed"};
  return names[static_cast<std::size_t>(use)];
}

/// How an order uses weights.
struct WeightRule {
  WeightUse use = WeightUse::flushed;
  std::uint32_t delay = 0;  // of `delayed`, in updates
  friend bool operator==(const WeightRule&, const WeightRule&) = default;
};

/// The actions of each rank in order.
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
  /// Whether any rank runs this pass.
  bool has(Pass pass) const;

  /// Where a rank's evicted activations are kept: on another rank or in host memory.
  Rank keeper_of(Rank rank) const { return keepers_.empty() ? host_memory : keepers_[index(rank)]; }
  /// One keeper per rank.
  void set_keepers(std::vector<Rank> keepers) { keepers_ = std::move(keepers); }

  const WeightRule& weights() const { return weights_; }
  void set_weights(WeightRule weights) { weights_ = weights; }

  friend bool operator==(const Schedule&, const Schedule&) = default;

 private:
  std::vector<std::vector<Action>> orders_;
  std::vector<Rank> keepers_;  // empty: host memory for every rank
  WeightRule weights_;
};

/// How the two parts of an overlap cell run: in sequence as listed, or as one unit as long as the
/// longer part.
enum class Overlap : std::uint8_t { serial, fused };

/// Dense numbers for the microbatches of an order: tables stay small even when a file numbers them
/// with gaps.
class MicrobatchColumns {
 public:
  explicit MicrobatchColumns(const Schedule& schedule);

  /// The number of different microbatches.
  std::uint32_t count() const { return count_; }
  std::uint32_t column_of(Microbatch microbatch) const {
    return sorted_.empty() ? index(microbatch) : search(microbatch);
  }
  Microbatch microbatch_at(std::uint32_t column) const {
    return sorted_.empty() ? Microbatch{column} : sorted_[column];
  }

 private:
  std::uint32_t search(Microbatch microbatch) const;

  std::uint32_t count_ = 0;
  std::vector<Microbatch> sorted_;  // empty: the numbers are already dense
};

}  // namespace penstock
