#pragma once

#include <variant>

#include "sim/costs/priced_plan.hpp"
#include "sim/engines/standstill.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/policy.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// A schedule of all actions in an order that any placement can run: every forward by microbatch,
/// then every backward. The input of a policy. Several chains take the microbatches in turn.
Schedule all_work(const Placement& placement, std::uint32_t microbatches, bool split_backward);

/// The order chosen by a policy and its times, by the original task numbers.
struct DecidedOrder {
  Schedule schedule;
  Timeline timeline;
};

/// Runs the tasks of a plan in the order that `policy` chooses, and returns that order: lowered, it
/// gives the same times. An R runs directly before its backward; the plan must have no early R's
/// and no tail. Returns the standstill when the policy waits forever.
std::variant<DecidedOrder, Standstill> order_by_policy(const PricedPlan& priced,
                                                       const Placement& placement,
                                                       const Policy& policy);

}  // namespace penstock
