#pragma once

#include "sim/costs/priced_plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Runs a plan by longest path: each task starts when its resource is free and its inputs are
/// there, an action also not before its host has launched it. Right when every link serves one
/// ordered pair of ranks first come first served and nothing stalls, which holds for every plan
/// that `lower` makes; conditions are not looked at. Takes one pass over the tasks; the memory of
/// `reused` is used for the new timeline, so that a sweep allocates once.
Timeline relax(const PricedPlan& priced, Timeline reused = {});

/// The same from task `first` on, for a timeline in which the tasks before it are right.
void relax_from(TaskId first, const PricedPlan& priced, Timeline& timeline);

}  // namespace penstock
