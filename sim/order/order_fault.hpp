#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// The first fault of an order and its place: the action'th entry of a rank's row. A missing action
/// is placed at the end of its row.
struct OrderFault {
  Rank rank;
  std::uint32_t action;
  std::string text;
};

/// The first fault of an order, cells first (by rank, then position), then missing actions: an
/// action on another rank's stage or twice, B before F, W without I, B mixed with I and W, R before
/// F or after B or I, E without F or L without E before it, B or R of an evicted activation before
/// its L, U before B, a microbatch in two chains, stages of a chain with different microbatches, a
/// forward without its backward in an order with backwards. Deadlocks between ranks are found by
/// `lower`. An order without actions, or with other ranks than the placement, has a fault too.
///
/// The first `frozen` stages of each chain have no backwards, whatever the others have.
std::optional<OrderFault> find_order_fault(const Schedule& schedule, const Placement& placement,
                                           std::uint32_t frozen = 0);

}  // namespace penstock
