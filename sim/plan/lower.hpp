#pragma once

#include <variant>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/deadlock.hpp"
#include "sim/plan/extras.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// Turns an order into a plan: adds transfers and extras, numbers the tasks topologically, names
/// classes. An added R is placed directly before its B or I and waits for the same gradient, or
/// only for its rank if early; in an overlap cell it is part of the B or I, or, if early, precedes
/// the cell. An R of the order waits only for its rank.
///
/// The order must have no faults (`find_order_fault`). Returns the deadlock when ranks wait for
/// each other. Takes O(actions) time.
std::variant<Plan, Deadlock> lower(const Schedule& schedule, const Placement& placement,
                                   Overlap overlap = Overlap::serial, const Extras& extras = {});

}  // namespace penstock
