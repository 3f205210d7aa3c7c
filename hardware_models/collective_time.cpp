#include "hardware_models/collective_time.hpp"

namespace penstock {

double collective_us(CollectiveKind kind, double bytes, double devices, const Speed& link) {
  double steps = devices - 1;
  // Each step passes on what one device has: a share of the whole, or everything that it holds.
  double step_bytes = bytes / devices;
  if (kind == CollectiveKind::all_reduce) steps *= 2;
  if (kind == CollectiveKind::ring_exchange) step_bytes = bytes;
  return steps * (step_bytes / link.bandwidth_bytes_per_s * 1e6 + link.latency_us);
}

}  // namespace penstock
