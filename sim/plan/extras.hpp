#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/plan/plan.hpp"

namespace penstock {

/// Which activations are made again in front of their backward rather than kept.
struct Recomputing {
  std::vector<bool> stages;  // by model stage; empty: none
  bool early = false;        // as soon as the rank is free, not only once the gradient is there
  bool except_last = false;  // but not the microbatch with the highest number of its chain

  bool of_stage(std::uint32_t model_stage) const {
    return model_stage < stages.size() && stages[model_stage];
  }
};

/// When those that hold the same weights sum their gradients.
enum class Summing : std::uint8_t {
  behind_stage,  // behind the last weight gradient of a stage, beside what its rank still does
  behind_each,   // behind each weight gradient
  behind_row,    // behind the last action of a rank, as exchanged gradients are then
  in_passes,     // no task of the plan: passes take it upon themselves
};

/// What follows the last weight gradient of a stage, or each of them.
struct Tail {
  std::vector<bool> reduces;  // by model stage: several hold it, and sum; empty: none
  bool updates = false;       // U of each stage at the end of its rank's row
  bool gathers = false;       // each updates its share, which then goes to all of them
  Summing summing = Summing::behind_stage;
  bool ties = false;          // first and last stage of a chain exchange a gradient
  bool across_ranks = false;  // sums of a stage on several ranks go from rank to rank, since there
                              // are no data replicas

  bool of_stage(std::uint32_t model_stage) const {
    return model_stage < reduces.size() && reduces[model_stage];
  }
  bool empty() const { return reduces.empty() && !updates && !ties; }
};

/// What a plan has beyond the actions of its order. Without any of it a plan is the order itself
/// and its transfers.
struct Extras {
  Recomputing recomputing;
  Tail tail;
  std::array<bool, buffer_kinds> holds{};  // kinds of buffers beside the usual ones

  bool has(BufferKind kind) const { return holds[static_cast<std::size_t>(kind)]; }
};

}  // namespace penstock
