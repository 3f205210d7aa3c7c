#pragma once

#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// When tasks had all they need from others: of an action its inputs and the end of the one before
/// it on its rank, of a transfer its inputs alone. What passes from then to its begin is a wait of
/// its own: for the host, for memory, for its link.
struct Readiness {
  std::vector<Time> at;    // by task; no later than its begin
  std::vector<TaskId> by;  // what came last, or no_task
};

/// `orders` are the orders on ranks and links as they came about.
Readiness readiness(const Plan& plan, const Timeline& timeline, const ResourceOrders& orders);

/// The tasks of each rank and link by when they began; at one moment as the plan has them.
ResourceOrders orders_by_time(const Plan& plan, const Timeline& timeline);

}  // namespace penstock
