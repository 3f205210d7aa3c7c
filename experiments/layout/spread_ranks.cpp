#include "experiments/layout/spread_ranks.hpp"

namespace penstock {

void spread_ranks(Layout& layout) {
  HardwareSpec& spec = layout.hardware.spec;
  const Degrees& degrees = layout.degrees;
  spec.ranks = layout.placement.ranks();
  spec.devices_per_rank = degrees.group() * degrees.data;
  // Without data replicas, the next copy of a weight is in the same group, one tensor group away.
  spec.devices_per_replica = degrees.data > 1 ? degrees.group() : degrees.tensor;
  spec.tensor = degrees.tensor;
  spec.context = degrees.context;
  spec.expert = degrees.expert;
}

}  // namespace penstock
