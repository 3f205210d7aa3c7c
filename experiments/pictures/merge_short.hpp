#pragma once

#include "experiments/pictures/timeline_cells.hpp"
#include "sim/base/time.hpp"

namespace penstock {

/// Puts one band in the place of cells shorter than `shortest` that follow each other closely. In a
/// band the kinds lie on each other from the bottom up, each as high as its share of the area, and
/// what is missing at the top is idle. Longer cells, and gaps as long as
/// `shortest`, stay as they are. A band is at least `least` times as long as `shortest` and, where
/// it can be, goes through whole rounds of a repeating pattern.
Lane merge_short(const Lane& lane, Time shortest, int least = 4);

}  // namespace penstock
