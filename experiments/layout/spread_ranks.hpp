#pragma once

#include "experiments/layout/layout.hpp"

namespace penstock {

/// Tells the hardware of a layout its ranks, the devices per rank, and the distance between
/// replicas.
void spread_ranks(Layout& layout);

}  // namespace penstock
