#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sim/base/numbers.hpp"
#include "sim/order/communication.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// Activations that are recomputed before their backward instead of kept.
struct Recomputing {
  std::vector<bool> stages;  // by model stage; empty: none
  bool early = false;        // as soon as the rank is free, without waiting for the gradient
  bool except_last = false;  // except the microbatch with the highest number of its chain
  // By stage of the order, ascending: of `stages`, only these microbatches; empty: all of them.
  std::vector<std::vector<std::uint32_t>> microbatches = {};

  friend bool operator==(const Recomputing&, const Recomputing&) = default;

  bool of_stage(std::uint32_t model_stage) const {
    return model_stage < stages.size() && stages[model_stage];
  }
  bool of_microbatch(Stage stage, Microbatch microbatch) const {
    if (microbatches.empty()) return true;
    if (index(stage) >= microbatches.size()) return false;
    const auto& own = microbatches[index(stage)];
    return std::ranges::binary_search(own, index(microbatch));
  }
};

/// When holders of the same weights reduce their gradients.
enum class Summing : std::uint8_t {
  behind_stage,  // after the last weight gradient of a stage, overlapped with its rank's work
  behind_each,   // after each weight gradient
  behind_row,    // after the last action of a rank, as with exposed all-reduces
  in_passes,     // no task of the plan: passes include it
  written,       // where the order has REDUCE_GRAD
};

/// What follows the last weight gradient of a stage, or each of them.
struct Tail {
  std::vector<bool> reduces;  // by model stage: several ranks hold and reduce it; empty: none
  // By model stage: part of its gradients is reduced while a weight gradient runs, the last or
  // each; empty: none. Only with `behind_stage` and `behind_each`.
  std::vector<bool> early = {};
  // By model stage: the first of those that are updated together, which wait for the sums of all of
  // them; empty: each alone.
  std::vector<std::uint32_t> updated_with = {};
  bool updates = false;  // U of each stage at the end of its rank's row
  bool gathers = false;  // each updates its shard, followed by an all-gather
  Summing summing = Summing::behind_stage;
  bool ties = false;  // two stages of a chain exchange the gradient of tied weights: the last,
  std::uint32_t tied_from = 0;  // and this model stage
  // Gradients of a stage on several ranks are reduced from rank to rank, since there are no data
  // replicas.
  bool across_ranks = false;

  friend bool operator==(const Tail&, const Tail&) = default;

  bool of_stage(std::uint32_t model_stage) const {
    return model_stage < reduces.size() && reduces[model_stage];
  }
  bool starts_early(std::uint32_t model_stage) const {
    return summing <= Summing::behind_each && of_stage(model_stage) && model_stage < early.size() &&
           early[model_stage];
  }
  bool empty() const { return reduces.empty() && !updates && !ties; }
};

/// Parts of a plan beyond the actions of its order. Without them a plan is the order and its
/// transfers.
struct Extras {
  Recomputing recomputing;
  Tail tail;
  std::array<bool, buffer_kinds> holds{};  // kinds of buffers besides the usual ones
  Communication communication = {};        // sends and receives where the order has them
  // By model stage: what it puts out is exchanged within its rank before the next one, on the same
  // rank, reads it, and gradients on their way back; empty: none.
  std::vector<bool> exchanges = {};

  friend bool operator==(const Extras&, const Extras&) = default;

  bool has(BufferKind kind) const { return holds[static_cast<std::size_t>(kind)]; }
};

}  // namespace penstock
