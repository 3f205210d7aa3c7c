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

/// Restores topological numbers after the tasks `moved` of `graph` have changed places. Nothing
/// when the numbers are still right; a deadlock when there are none. As in the algorithm of Pearce
/// and Kelly (Journal of Experimental Algorithmics 11, 2006), visits only tasks numbered between
/// the ends of wrong edges.
std::variant<std::optional<Renumbering>, Deadlock> repair_numbers(
    const Plan& plan, const TaskGraph& graph, const std::vector<bool>& several_makers,
    std::span<const TaskId> moved);

}  // namespace penstock
