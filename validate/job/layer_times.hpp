#pragma once

#include <cstdint>
#include <map>

#include "sim/order/schedule.hpp"

namespace penstock {

/// A layer of a model, by its number, in a pass: F, I or W.
struct LayerPass {
  std::uint32_t layer = 0;
  Pass pass = Pass::forward;
  friend auto operator<=>(const LayerPass&, const LayerPass&) = default;
};

/// CPU time over a number of cells.
struct LayerSpent {
  double ns = 0;
  std::uint32_t cells = 0;
};

/// How long the layers of a model took inside the actions of a run.
using TimesOfLayers = std::map<LayerPass, LayerSpent>;

/// Adds the times of some ranks to those of others.
void add(const TimesOfLayers& part, TimesOfLayers& sum);

}  // namespace penstock
