#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/costs/costs.hpp"
#include "sim/costs/network.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// What one physical link carried.
struct NetworkLinkUse {
  std::string name;
  std::uint64_t transfers = 0;
  std::uint64_t bytes = 0;
  double utilization = 0;  // share of what it could have carried until the makespan
};

/// The physical links that carried anything, in the order of the network.
std::vector<NetworkLinkUse> network_use(const Plan& plan, const Costs& costs,
                                        const Network& network, Time makespan);

}  // namespace penstock
