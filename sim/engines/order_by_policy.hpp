#pragma once

#include <variant>

#include "sim/costs/priced_plan.hpp"
#include "sim/engines/standstill.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/policy.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// A schedule of all the work there is, in an order that any placement can run: every forward, one
/// microbatch after the other, then every backward. What a policy starts from. Several chains take
/// the microbatches in turn.
Schedule all_work(const Placement& placement, std::uint32_t microbatches, bool split_backward);

/// What a policy decided, and when everything ran, by the numbers that tasks had before.
struct DecidedOrder {
  Schedule schedule;
  Timeline timeline;
};

/// Runs the tasks of a plan in whatever order `policy` chooses, and returns that order: lowered, it
/// runs with the same times. An R is run directly in front of its backward; the plan must not have
/// early ones, nor a tail. Returns the standstill when the policy waits for ever.
std::variant<DecidedOrder, Standstill> order_by_policy(const PricedPlan& priced,
                                                       const Placement& placement,
                                                       const Policy& policy);

}  // namespace penstock
