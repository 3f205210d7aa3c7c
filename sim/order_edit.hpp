#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "sim/placement.hpp"
#include "sim/plan.hpp"
#include "sim/schedule.hpp"
#include "sim/task_graph.hpp"

namespace penstock {

/// Why something cannot be changed as asked.
struct Refused {
  std::string text;
};

/// A stretch of the order of a rank: its actions from the `first`-th on, in another sequence.
struct OrderEdit {
  Rank rank;
  std::uint32_t first;
  std::span<const Action> actions;  // `with_next` is not looked at: overlap cells stay
};

/// The tasks of the stretch in their new sequence. Refused are other actions than those that stand
/// there, an action before what it needs of its own rank, overlap cells taken apart, and an update
/// or the last weight gradient of a stage that other actions of the stage would overtake.
std::variant<std::vector<TaskId>, Refused> edited_tasks(const Plan& plan, const TaskGraph& graph,
                                                        const Placement& placement,
                                                        const OrderEdit& edit);

}  // namespace penstock
