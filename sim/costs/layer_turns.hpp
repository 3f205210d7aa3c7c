#pragma once

#include <cstdint>
#include <span>

namespace penstock {

/// One layer of a pass: its compute, what must be gathered before it, and what is reduced after it,
/// in microseconds. The collectives share one link.
struct LayerTurn {
  double gather_us = 0;
  double compute_us = 0;
  double reduce_us = 0;
};

/// The time of a pass over layers in turn, in microseconds. The gathering of a layer starts once
/// the layer `ahead` places before it starts, or with 0 once the layer before it has ended; at the
/// beginning of the pass for the first layers. A reduction starts when its layer has ended. The
/// pass ends with its last reduction.
double turns_us(std::span<const LayerTurn> turns, std::uint32_t ahead);

}  // namespace penstock
