#include "sim/costs/plan_network.hpp"

namespace penstock {

Network network_of(const Plan& plan, const HardwareModel& hardware) {
  Network network = hardware.network();
  if (network.links.empty()) return network;
  for (const Link& link : plan.links) network.routes.push_back(hardware.route(link));
  return network;
}

}  // namespace penstock
