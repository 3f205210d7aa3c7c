#pragma once

#include <cstdint>
#include <vector>

#include "experiments/plan/planner/bounds/step_bound.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// The F, B, I and W of an order, each after those that it waits for.
struct OrderWalk {
  struct Step {
    Pass pass{};
    bool again = false;  // it restores its activation, if that was given up
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
