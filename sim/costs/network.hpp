#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

/// A physical link, which several pairs of ranks may share.
struct NetworkLink {
  std::string name;
  double bandwidth_bytes_per_s = 0;
  double latency_us = 0;
  // Devices of a rank that send over it at once, of which one is simulated: the bandwidth is its
  // share.
  std::uint32_t sharers = 1;
};

/// The physical links of a transfer, in order, by number.
using Route = std::vector<std::uint32_t>;

/// How transfers share a link: first come first served, or max-min fair.
enum class Sharing : std::uint8_t { fifo, fair };

/// The physical links under the links of a plan. Without links each link of the plan is private.
struct Network {
  std::vector<NetworkLink> links;
  std::vector<Route> routes;  // by link of the plan
  Sharing sharing = Sharing::fair;
};

/// Microseconds that a tensor without contention occupies its route: bytes over the slowest
/// bandwidth.
double occupied_us(double bytes, const std::vector<NetworkLink>& links, const Route& route);

}  // namespace penstock
