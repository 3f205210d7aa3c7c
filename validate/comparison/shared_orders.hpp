#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan/plan.hpp"
#include "validate/comparison/task_match.hpp"

namespace penstock {

/// A rank or link in two runs: the common ops, as indices into a list of pairs.
struct SharedOrder {
  std::vector<std::uint32_t> a;
  std::vector<std::uint32_t> b;  // the same ops, possibly in another order
};

/// The orders of the common ops, for each rank and link that both runs have.
std::vector<SharedOrder> shared_orders(const Plan& plan_a, const ResourceOrders& orders_a,
                                       const Plan& plan_b, const ResourceOrders& orders_b,
                                       const std::vector<TaskPair>& pairs);

}  // namespace penstock
