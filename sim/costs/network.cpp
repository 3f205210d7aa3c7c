#include "sim/costs/network.hpp"

#include <algorithm>
#include <limits>

#include "sim/costs/hardware_model.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

double occupied_us(double bytes, const std::vector<NetworkLink>& links, const Route& route) {
  double bandwidth = std::numeric_limits<double>::infinity();
  for (const std::uint32_t link : route) {
    bandwidth = std::min(bandwidth, links[link].bandwidth_bytes_per_s);
  }
  return bytes / bandwidth * 1e6;
}

Network network_of(const Plan& plan, const HardwareModel& hardware) {
  Network network = hardware.network();
  if (network.links.empty()) return network;
  for (const Link& link : plan.links) network.routes.push_back(hardware.route(link));
  return network;
}

}  // namespace penstock
