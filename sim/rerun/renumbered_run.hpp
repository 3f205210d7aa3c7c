#pragma once

#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/rerun/renumbering.hpp"
#include "sim/rerun/task_graph.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Gives tasks their new numbers in everything that names them or has an entry for each. It takes
/// time for the tasks that change and those around them. What a timeline has beyond begin, end and
/// last input does not follow.
void renumber(const Renumbering& numbers, Plan& plan, TaskGraph& graph, Costs& costs,
              Timeline& timeline);

}  // namespace penstock
