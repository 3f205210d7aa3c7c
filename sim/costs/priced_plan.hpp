#pragma once

#include "sim/costs/conditions.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// What runs a plan is given: the plan, what its classes cost, and what it meets with besides.
/// Engines and backends take this, and give a timeline or say why there is none.
struct PricedPlan {
  Plan plan;
  Costs costs;
  Conditions conditions = {};
};

}  // namespace penstock
