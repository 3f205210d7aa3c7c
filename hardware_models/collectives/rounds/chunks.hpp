#pragma once

#include <cstdint>

#include "sim/costs/topology.hpp"

namespace penstock {

/// The number of chunks that roughly minimises the time through `stages` consecutive stages:
/// (stages + k - 1) (bytes / k / bw + lat) is smallest at the square root of (stages - 1) bytes /
/// bw / lat. At most 1024: without latency more would always be better.
std::uint64_t chunks_for(std::uint64_t stages, double bytes, const Speed& speed);

}  // namespace penstock
