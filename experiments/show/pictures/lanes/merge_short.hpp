#pragma once

#include "experiments/show/pictures/lanes/timeline_cells.hpp"
#include "sim/base/time.hpp"

namespace penstock {

/// Merges closely consecutive cells shorter than `shortest` into bands. A band stacks its kinds
/// from the bottom up, each as high as its share of the area; the rest at the top is idle. Longer
/// cells, and gaps of at least `shortest`, stay unchanged. A band is at least `least` times
/// `shortest` long and covers whole periods of a repeating pattern where possible.
Lane merge_short(const Lane& lane, Time shortest, int least = 4);

}  // namespace penstock
