#pragma once

#include <cstdint>

#include "sim/costs/topology.hpp"

namespace penstock {

/// Into how many chunks bytes are cut that pass `stages` stages one after the other, so that this
/// takes about least: (stages + k - 1) (bytes / k / bw + lat) is smallest where k is the square
/// root of (stages - 1) bytes / bw / lat. At most 1024: without latency more would always be less.
std::uint64_t chunks_for(std::uint64_t stages, double bytes, const Speed& speed);

}  // namespace penstock
