#pragma once

#include "sim/costs/conditions.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// A plan with its costs and conditions: the input of engines and backends, which return a timeline
/// or say why there is none.
struct PricedPlan {
  Plan plan;
  Costs costs;
  Conditions conditions = {};
};

}  // namespace penstock
