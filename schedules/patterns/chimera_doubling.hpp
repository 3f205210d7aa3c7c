#pragma once

#include <cstdint>

#include "sim/order/schedule.hpp"

namespace penstock {

/// Chimera for backwards twice as long as forwards: forwards run in pairs, so that a pair takes as
/// long as one backward and units leave no gaps. Pair k is microbatches 2k and 2k+1; pairs
/// alternate between the two directions. `pairs` must be even.
Schedule doubled_chimera(std::uint32_t ranks, std::uint32_t pairs);

}  // namespace penstock
