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

/// Why a change is refused.
struct Refused {
  std::string text;
};

template <class... Values>
Refused refused(fmt::format_string<Values...> text, Values&&... values) {
  return {fmt::format(text, std::forward<Values>(values)...)};
}

/// A stretch of a rank's order: its actions from `first` on, in another sequence.
struct OrderEdit {
  Rank rank;
  std::uint32_t first;
  std::span<const Action> actions;  // `with_next` is ignored: overlap cells stay
};

/// The tasks of the stretch in their new sequence. Refused: other actions than those in the
/// stretch, an action before its inputs on its rank, split overlap cells, and moving actions of a
/// stage across its update or its last weight gradient.
std::variant<std::vector<TaskId>, Refused> edited_tasks(const Plan& plan, const TaskGraph& graph,
                                                        const Placement& placement,
                                                        const OrderEdit& edit);

}  // namespace penstock
