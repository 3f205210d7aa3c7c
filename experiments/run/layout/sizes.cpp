#include "experiments/run/layout/sizes.hpp"

#include <algorithm>

#include "experiments/run/layout/degrees.hpp"

namespace penstock {

std::uint64_t devices_of(const Layout& layout) {
  return layout.placement.ranks() * devices_per_rank(layout.degrees);
}

std::uint32_t chunks_of(const Layout& layout) {
  const auto stages = static_cast<std::uint32_t>(layout.placement.chains().front().size());
  const std::uint32_t ranks = layout.placement.ranks();
  return std::max(1u, (stages + ranks - 1) / ranks);
}

double global_batch_of(const Layout& layout) {
  return static_cast<double>(layout.microbatches) * layout.batch.samples_per_microbatch *
         layout.degrees.data;
}

}  // namespace penstock
