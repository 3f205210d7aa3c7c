#pragma once

#include "experiments/plan/planner/layout_plan.hpp"

namespace penstock {

/// Finds the fastest layouts of a task that fit: bounds for all of them, then simulation in the
/// order of the bounds until the next bound is above the time of the last layout wanted. The result
/// does not depend on `jobs`. Throws InputError for what scenarios refuse.
LayoutPlan plan_layouts(const TrainingTask& task, const Catalogue& catalogue,
                        const PlannerOptions& options);

}  // namespace penstock
