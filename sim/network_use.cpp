#include "sim/network_use.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// What each link of the plan carried.
std::vector<NetworkLinkUse> use_of_plan_links(const Plan& plan, const Costs& costs) {
  std::vector<NetworkLinkUse> use(plan.links.size());
  for (const std::uint32_t work : plan.work) {
    const WorkClass& kind = plan.classes[work];
    if (!plan.is_link(kind.resource)) continue;
    NetworkLinkUse& link = use[kind.resource - plan.ranks];
    ++link.transfers;
    link.bytes += costs.bytes[kind.buffer];
  }
  return use;
}

double share_used(const NetworkLinkUse& use, const NetworkLink& link, Time makespan) {
  const double could_carry = link.bandwidth_bytes_per_s * to_us(makespan) * 1e-6;
  return could_carry > 0 ? static_cast<double>(use.bytes) / could_carry : 0;
}

}  // namespace

std::vector<NetworkLinkUse> network_use(const Plan& plan, const Costs& costs,
                                        const Network& network, Time makespan) {
  std::vector<NetworkLinkUse> use(network.links.size());
  if (use.empty()) return use;
  const std::vector<NetworkLinkUse> carried = use_of_plan_links(plan, costs);
  for (std::size_t l = 0; l < carried.size(); ++l) {
    for (const std::uint32_t link : network.routes[l]) {
      use[link].transfers += carried[l].transfers;
      use[link].bytes += carried[l].bytes;
    }
  }
  for (std::size_t link = 0; link < use.size(); ++link) {
    use[link].name = network.links[link].name;
    use[link].utilization = share_used(use[link], network.links[link], makespan);
  }
  std::erase_if(use, [](const NetworkLinkUse& link) { return link.transfers == 0; });
  return use;
}

}  // namespace penstock
