#pragma once

#include <string>
#include <variant>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/extras.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// One link of a circle of waiting: `action` of `rank` cannot start before `needs` of `needs_rank`.
struct Wait {
  Rank rank;
  Action action;
  Action needs;
  Rank needs_rank;
};

/// An order that can never finish: each entry waits for something behind the next entry's action,
/// and the last for something behind the first's.
struct Deadlock {
  std::vector<Wait> circle;
};

/// "deadlock: 1F0 of rank 1 waits for 0F0 of rank 0, which stands behind 0B0; 0B0 of rank 0 waits
/// …".
std::string text(const Deadlock& deadlock);

/// Turns an order into a plan: adds the transfers and the extras, numbers the tasks topologically,
/// names classes. An R that is added stands directly in front of its B or I and waits for the same
/// gradient, or for its rank alone when it is early; in an overlap cell it is part of the B or I,
/// or, early, stands in front of the cell. An R of the order waits for its rank alone.
///
/// The order must be without faults (`find_order_fault`). Returns the circle when ranks wait for
/// each other for ever. Takes O(actions) time.
std::variant<Plan, Deadlock> lower(const Schedule& schedule, const Placement& placement,
                                   Overlap overlap = Overlap::serial, const Extras& extras = {});

}  // namespace penstock
