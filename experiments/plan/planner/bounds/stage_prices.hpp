#pragma once

#include <vector>

#include "experiments/plan/planner/bounds/layer_times.hpp"
#include "experiments/plan/planner/bounds/plan_base.hpp"
#include "experiments/plan/planner/bounds/step_bound.hpp"
#include "experiments/plan/planner/space/layout_choice.hpp"

namespace penstock {

/// What the stages of a layout cost, as its simulation prices them; transfers between ranks may be
/// free.
struct StagePrices {
  std::vector<StageBounds> times;  // by stage of the placement; empty: the cut is not known
  // With ZeRO-3: where passes share gathers and reductions, which `times` have once a cell.
  std::vector<StageBounds> shared_times;
  double least_bytes = 0;          // that the fullest rank holds at some moment of any order
  std::vector<double> held_bytes;  // by rank, throughout the run
  // By stage of the placement.
  std::vector<double> kept_bytes;        // of an activation, from F to the end of B or W
  std::vector<double> input_bytes;       // of it, besides, to the end of B or I
  std::vector<double> pending_bytes;     // between I and W
  std::vector<double> workspace_bytes;   // of each action
  std::vector<double> recomputed_bytes;  // of R, or of F without it
  std::vector<double> evict_us;          // of an activation on its way to the host
  bool remakes = false;                  // recomputed memory is held by each B or I
};

/// A layout on its ranks, not cut yet, with an order of two microbatches. `shaped` is `with_shape`
/// of it; all orders with the same placement and slices have the same.
Layout placed_layout(const PlanBase& base, Layout shaped, bool splits, const Placement& placement);

/// Prices a layout that is placed and cut. Throws as above.
StagePrices stage_prices(const Layout& layout, const OrderChoice& order, const CutTimes& cut,
                         const HardwareModel& hardware);

}  // namespace penstock
