#include "sim/costs/network.hpp"

#include <algorithm>
#include <limits>

namespace penstock {

double occupied_us(double bytes, const std::vector<NetworkLink>& links, const Route& route) {
  double bandwidth = std::numeric_limits<double>::infinity();
  for (const std::uint32_t link : route) {
    bandwidth = std::min(bandwidth, links[link].bandwidth_bytes_per_s);
  }
  return bytes / bandwidth * 1e6;
}

}  // namespace penstock
