#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "sim/costs/conditions.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/rerun/order_edit.hpp"

namespace penstock {

/// The duration of every task of a work class.
struct ClassTime {
  std::uint32_t work;
  Time time;
};

/// The durations of all transfers over a physical link with another bandwidth. Refused for an
/// unknown link, an invalid bandwidth, and transfers that do not take the time of their slowest
/// link now.
std::variant<std::vector<ClassTime>, Refused> durations_with(const Plan& plan, const Costs& costs,
                                                             const Network& network,
                                                             std::uint32_t physical_link,
                                                             double bytes_per_s);

}  // namespace penstock
