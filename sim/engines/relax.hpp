#pragma once

#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Runs a plan by longest path: each task starts when its resource is free and its inputs are
/// there, an action also not before its host has launched it. Right when every link serves one
/// ordered pair of ranks first come first served and nothing stalls, which holds for every plan
/// that `lower` makes. Takes one pass over the tasks; `timeline` is overwritten and its memory
/// reused, so that a sweep allocates once.
void relax(const Plan& plan, const Costs& costs, Timeline& timeline);

/// The same from task `first` on, for a timeline in which the tasks before it are right.
void relax_from(TaskId first, const Plan& plan, const Costs& costs, Timeline& timeline);

}  // namespace penstock
