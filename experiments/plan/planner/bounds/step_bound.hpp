#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/costs/hardware_model.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// A factor for bounds: covers the rounding of durations to picoseconds and the order of sums.
constexpr double bound_rounding = 1 - 1e-6;

/// Times of one stage in microseconds; what is unknown is 0, which keeps a bound a bound.
struct StageBounds {
  double forward = 0;
  double backward = 0;          // B
  double backward_input = 0;    // I
  double backward_weight = 0;   // W
  double again = 0;             // recomputation
  double send_forward = 0;      // output to the next stage, latency included
  double send_backward = 0;     // gradient to the previous stage, latency included
  double occupies_forward = 0;  // of the link, without latency
  double occupies_backward = 0;
  double after = 0;      // from its last gradient to the end: reduction, update, gather
  double sums = 0;       // of reductions on their link: of those that a step has once
  double sums_each = 0;  // of those that every cell has
  double update = 0;
  double gather = 0;               // of updated weights, latency included
  std::array<DeviceUse, 2> use{};  // of F and of B, for fused cells
};

/// How an order runs the cells of its stages.
struct OrderShape {
  double cells = 1;          // per stage and iteration, over all chains
  bool splits = false;       // a backward is I and W, or B
  bool joins = false;        // overlap cells: recomputation is a part of a backward
  bool fused = false;        // their parts run at once
  bool gathers = false;      // passes gather weights, overlapped with their work
  bool spares_last = false;  // the last microbatch is not recomputed
  bool early = false;        // recomputation does not wait for gradients
};

/// A lower bound on the step time of any order of these cells, in microseconds. Each rank waits for
/// the forwards before its first cell, then does all of its work. Unless backwards are split, those
/// of earlier stages follow its last one. Then its gradients are reduced and its weights updated.
/// `times` is by stage of the placement.
double step_bound_us(const Placement& placement, const std::vector<StageBounds>& times,
                     const OrderShape& shape);

/// The F, B, I and W of an order, each after those that it waits for.
struct OrderWalk {
  struct Step {
    Pass pass{};
    bool again = false;   // it restores its activation, if that was given up
    bool joined = false;  // waits for what the next one waits for too, and may run beside it
    Rank rank{};
    Stage stage{};
    std::uint32_t microbatch = 0;
  };
  std::vector<Step> steps;         // none for an order that is too long
  std::uint32_t microbatches = 0;  // numbers are below it
};

OrderWalk walk_of(const Schedule& schedule, const Placement& placement);

/// A lower bound on the step time of an order, in microseconds: each rank runs its cells in turn,
/// each cell waits for its neighbours' and their transfers, which never contend. 0 for no steps.
double walked_us(const OrderWalk& walk, const Placement& placement,
                 const std::vector<StageBounds>& times, const OrderShape& shape);

}  // namespace penstock
