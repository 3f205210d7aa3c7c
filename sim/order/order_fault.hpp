#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// What is wrong with an order, and where: the action'th entry of a rank's row. A missing action is
/// placed at the end of the row that lacks it.
struct OrderFault {
  Rank rank;
  std::uint32_t action;
  std::string text;
};

/// The first fault of an order, cells first (by rank, then position), then what is missing: an
/// action on another rank's stage or done twice, B before F, W without I, B mixed with I and W, R
/// before F or behind B or I, an E without F or L without E before it, B or R of what was evicted
/// before its L, U before B, a microbatch in two chains, stages of a chain with different
/// microbatches, a forward without its backward in an order that has backwards. Deadlock between
/// ranks is not looked for; `lower` finds it.
std::optional<OrderFault> find_order_fault(const Schedule& schedule, const Placement& placement);

}  // namespace penstock
