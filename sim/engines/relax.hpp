#pragma once

#include "sim/costs/priced_plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Runs a plan by longest path: each task starts when its resource is free and its inputs have
/// arrived, an action also after its launch. Applies when every link serves one ordered pair of
/// ranks first come first served and nothing stalls, as in every plan from `lower`; ignores
/// conditions. Takes one pass over the tasks; reuses the memory of `reused`, so that a sweep
/// allocates once.
Timeline relax(const PricedPlan& priced, Timeline reused = {});

}  // namespace penstock
