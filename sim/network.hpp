#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

/// A physical link, which the transfers of several pairs of ranks may share.
struct NetworkLink {
  std::string name;
  double bandwidth_bytes_per_s = 0;
  double latency_us = 0;
};

/// How transfers share a link: one after the other, or all at once with max-min fair shares.
enum class Sharing : std::uint8_t { fifo, fair };

/// The physical links under the links of a plan. Without links each link of the plan is private.
struct Network {
  std::vector<NetworkLink> links;
  std::vector<std::vector<std::uint32_t>> routes;  // by link of the plan: the links it goes over
  Sharing sharing = Sharing::fair;
};

}  // namespace penstock
