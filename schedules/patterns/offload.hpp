#pragma once

#include <cstdint>
#include <vector>

#include "sim/order/schedule.hpp"

namespace penstock {

/// How a rank offloads activations, under any order.
struct Offload {
  std::uint32_t keep;       // the most own activations that a rank holds
  std::uint32_t ahead = 1;  // backwards between the load of an activation and its own backward
};

/// The row of a rank with E and L added. Before an F that would exceed the limit, the activation
/// with the furthest backward is evicted. It is loaded `ahead` backwards before its own, or later
/// when there is no room; an activation with a further backward makes room. No activation is
/// evicted twice, and none between I and W. Throws RuleError when the limit cannot be kept.
std::vector<Action> offloaded_row(const std::vector<Action>& row, Rank rank, Offload offload);

/// Offloads every rank's row to host memory. Throws RuleError for an order without backwards, and
/// for one that already moves activations.
Schedule offloaded(const Schedule& schedule, Offload offload);

}  // namespace penstock
