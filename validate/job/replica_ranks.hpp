#pragma once

#include <cstdint>
#include <vector>

#include "sim/costs/priced_plan.hpp"

namespace penstock {

/// A plan in which every data replica has ranks of its own, so that all of them can really run:
/// replica d has the ranks from d times `one.plan.ranks` on, its own links and its own
/// microbatches, numbered behind those of the replicas before. An update waits for the gradient
/// sums of its stage from all replicas. `replicas` has the costs of each: those of `one`, or draws.
PricedPlan with_replica_ranks(const PricedPlan& one, const std::vector<Costs>& replicas);

}  // namespace penstock
