#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "sim/costs/conditions.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/rerun/order_edit.hpp"

namespace penstock {

/// How long every task of a work class takes.
struct ClassTime {
  std::uint32_t work;
  Time time;
};

/// The durations of all transfers over a physical link if that carried so much. Refused where there
/// is no such link or bandwidth, and where a transfer does not take now what its slowest link says.
std::variant<std::vector<ClassTime>, Refused> durations_with(const Plan& plan, const Costs& costs,
                                                             const Network& network,
                                                             std::uint32_t physical_link,
                                                             double bytes_per_s);

}  // namespace penstock
