#pragma once

#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/rerun/renumbering.hpp"
#include "sim/rerun/task_graph.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Renumbers tasks in everything that refers to them. Takes time for the changed tasks and their
/// neighbours only. Of a timeline, only begin, end and last input are renumbered.
void renumber(const Renumbering& numbers, Plan& plan, TaskGraph& graph, Costs& costs,
              Timeline& timeline);

}  // namespace penstock
