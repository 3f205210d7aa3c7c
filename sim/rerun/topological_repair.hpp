#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "sim/plan/lower.hpp"
#include "sim/plan/plan.hpp"
#include "sim/rerun/order_neighbours.hpp"
#include "sim/rerun/renumbering.hpp"
#include "sim/rerun/task_graph.hpp"

namespace penstock {

/// Numbers that are topological again after tasks of `graph` were put at other places: `moved` are
/// these tasks. Nothing when the numbers are right as they are; a circle of waiting when there are
/// none. As in the algorithm of Pearce and Kelly (Journal of Experimental Algorithmics 11, 2006),
/// only what is numbered between the ends of the edges that are wrong is looked at.
std::variant<std::optional<Renumbering>, Deadlock> repair_numbers(
    const Plan& plan, const TaskGraph& graph, const std::vector<bool>& several_makers,
    std::span<const TaskId> moved);

}  // namespace penstock
