#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/costs/costs.hpp"
#include "sim/costs/network.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// Traffic of one physical link.
struct NetworkLinkUse {
  std::string name;
  std::uint64_t transfers = 0;
  std::uint64_t bytes = 0;
  double utilization = 0;  // share of its capacity until the makespan
};

/// The physical links with any traffic, in the order of the network.
std::vector<NetworkLinkUse> network_use(const Plan& plan, const Costs& costs,
                                        const Network& network, Time makespan);

}  // namespace penstock
