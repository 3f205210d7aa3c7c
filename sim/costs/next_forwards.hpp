#pragma once

#include <span>
#include <vector>

#include "sim/costs/layer_turns.hpp"

namespace penstock {

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
