#include "hardware_models/collectives/rounds/chunks.hpp"

#include <algorithm>
#include <cmath>

namespace penstock {

std::uint64_t chunks_for(std::uint64_t stages, double bytes, const Speed& speed) {
  constexpr double most = 1024;
  const double whole_us = bytes / speed.bandwidth_bytes_per_s * 1e6;
  const double waiting_us = static_cast<double>(stages - 1) * whole_us;
  if (waiting_us == 0) return 1;
  const double best = speed.latency_us == 0 ? most : std::sqrt(waiting_us / speed.latency_us);
  return static_cast<std::uint64_t>(std::clamp(std::round(best), 1.0, most));
}

}  // namespace penstock
