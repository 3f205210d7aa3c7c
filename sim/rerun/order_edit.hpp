#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/plan.hpp"
#include "sim/rerun/task_graph.hpp"

namespace penstock {

/// Why something cannot be changed as asked.
struct Refused {
  std::string text;
};

template <class... Values>
Refused refused(fmt::format_string<Values...> text, Values&&... values) {
  return {fmt::format(text, std::forward<Values>(values)...)};
}

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
