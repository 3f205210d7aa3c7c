#pragma once

#include <cstdint>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// An order with its placement.
struct PlacedOrder {
  Placement placement;
  Schedule schedule;
};

/// An order whose stages are cut into pieces on their ranks, which run one after the other, in B, I
/// and W from the last. The pieces of the two parts of an overlap cell take turns, so that what one
/// part waits for passes while the other computes. `pieces`: by model stage, how many. Neither E
/// nor L is in the order.
PlacedOrder cut_order(const PlacedOrder& whole, const std::vector<std::uint32_t>& pieces);

/// The reverse: each stage as its first piece alone, without overlap cells.
PlacedOrder joined_order(const PlacedOrder& cut, const std::vector<std::uint32_t>& pieces);

}  // namespace penstock
