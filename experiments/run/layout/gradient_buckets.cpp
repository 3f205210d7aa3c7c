#include "experiments/run/layout/gradient_buckets.hpp"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

constexpr double usual_bytes = 25 * 1024.0 * 1024.0;
constexpr double most_buckets = 10'000;

std::uint32_t buckets_of(const Layout& layout, const std::vector<LayerIndex>& layers) {
  double bytes = 0, held = 0;
  for (const LayerIndex number : layers) {
    const double own = layout.model.layers[index(number)].parameter_bytes;
    bytes += own * layout.memory.kept.gradient_factor();
    if (own > 0) held += 1;
  }
  const auto& stated = layout.degrees.bucket_bytes;
  const double full = std::ceil(bytes / stated.value_or(usual_bytes));
  const double most = stated ? most_buckets : held;
  return static_cast<std::uint32_t>(std::max(1.0, std::min(full, most)));
}

}  // namespace

std::vector<std::uint32_t> gradient_buckets(const Layout& layout) {
  std::vector<std::uint32_t> buckets;
  for (const std::vector<LayerIndex>& layers : layout.partition.stages) {
    buckets.push_back(layout.degrees.overlaps_sums ? buckets_of(layout, layers) : 1);
  }
  return buckets;
}

}  // namespace penstock
