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

/// How much longer work takes while other work of its device goes on.
struct Interference {
  double compute = 1;   // compute, while a collective is in flight
  double transfer = 1;  // a collective, while its rank runs a pass
};

/// The time of compute that starts together with collectives of this time, in microseconds.
double slowed_us(double compute_us, double collectives_us, const Interference& slows);

/// The time of a pass over layers in turn, in microseconds. The gathering of a layer starts once
/// the layer `ahead` places before it starts, or with 0 once the layer before it has ended; at the
/// beginning of the pass for the first layers. A reduction starts when its layer has ended. The
/// pass ends with its last reduction.
double turns_us(std::span<const LayerTurn> turns, std::uint32_t ahead,
                const Interference& slows = {});

}  // namespace penstock
