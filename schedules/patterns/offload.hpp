#pragma once

#include <cstdint>
#include <vector>

#include "sim/order/schedule.hpp"

namespace penstock {

/// How activations leave a rank that has no room for them, whatever its order is.
struct Offload {
  std::uint32_t keep;       // activations of its own that a rank holds at most
  std::uint32_t ahead = 1;  // how many backwards before its own an activation is called back
};

/// The row of a rank with E and L in it. In front of an F that would be one too many, the
/// activation whose backward is furthest away leaves. It is called back `ahead` backwards before
/// its own, or later where there is no room yet: one whose backward is further away makes room.
/// None leaves twice, and none while its backward is split and its W still to come. Throws
/// RuleError when that many cannot be kept to.
std::vector<Action> offloaded_row(const std::vector<Action>& row, Rank rank, Offload offload);

/// Every rank's row so, with the host's memory as the keeper. Throws RuleError for an order without
/// backwards, which keeps nothing, and one that moves activations already.
Schedule offloaded(const Schedule& schedule, Offload offload);

}  // namespace penstock
