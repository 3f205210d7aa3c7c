#include "sim/report/network_use.hpp"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

/// Bytes of a transfer over its route. Some traffic of a collective stays inside machines although
/// its route does not: at most what the route carries in that time.
std::uint64_t bytes_over(const Route& route, std::uint32_t work, const Plan& plan,
                         const Costs& costs, const Network& network) {
  const WorkClass& kind = plan.classes[work];
  const std::uint64_t bytes = costs.bytes[kind.buffer];
  if (!is_tail(kind.pass) || route.empty()) return bytes;
  double slowest = INFINITY;
  for (const std::uint32_t link : route) {
    slowest = std::min(slowest, network.links[link].bandwidth_bytes_per_s);
  }
  const double most = slowest * to_us(costs.duration[work]) * 1e-6;
  return std::min(bytes, static_cast<std::uint64_t>(std::llround(std::min(most, 9e18))));
}

/// Traffic of each link of the plan.
std::vector<NetworkLinkUse> use_of_plan_links(const Plan& plan, const Costs& costs,
                                              const Network& network) {
  std::vector<NetworkLinkUse> use(plan.links.size());
  for (const std::uint32_t work : plan.work) {
    const WorkClass& kind = plan.classes[work];
    if (!plan.is_link(kind.resource)) continue;
    NetworkLinkUse& link = use[kind.resource - plan.ranks];
    ++link.transfers;
    link.bytes +=
        bytes_over(network.routes[kind.resource - plan.ranks], work, plan, costs, network);
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
  const std::vector<NetworkLinkUse> carried = use_of_plan_links(plan, costs, network);
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
