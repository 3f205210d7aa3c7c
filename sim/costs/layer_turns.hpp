#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

/// Shares of collectives that computing waits for, prefetched or overlapped as they may be.
struct Exposed {
  double gathers = 0;
  double sums = 0;
};

/// The time of compute that starts together with collectives of this time, in microseconds.
double slowed_us(double compute_us, double collectives_us, const Interference& slows);

/// The time of a pass over layers in turn, in microseconds. The gathering of a layer starts once
/// the layer `ahead` places before it starts, or with 0 once the layer before it has ended; at the
/// beginning of the pass for the first layers. A reduction starts when its layer has ended. The
/// pass ends with its last reduction. A layer waits for the exposed shares of its own gathering and
/// of the reduction of the layer before it even where these have ended.
double turns_us(std::span<const LayerTurn> turns, std::uint32_t ahead,
                const Interference& slows = {}, const Exposed& exposed = {});

/// The first forward of a stage in the next step.
struct NextForward {
  double start_us = 0;           // at the earliest: after those of the stages before it
  std::vector<LayerTurn> turns;  // its layers, with what each must gather
};

/// How much longer each of the first forwards of one rank takes because of its new weights, in
/// microseconds. Weights are gathered from the start of the step on, one layer after the other, in
/// the order of the stages; a layer runs once its weights are there.
std::vector<double> waits_for_weights(std::span<const NextForward> stages);

}  // namespace penstock
