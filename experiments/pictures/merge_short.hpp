#pragma once

#include "experiments/pictures/timeline_cells.hpp"
#include "sim/base/time.hpp"

namespace penstock {

/// Puts one band in the place of cells shorter than `shortest` that follow each other closely. In a
/// band the kinds lie on each other from the bottom up, each as high as its share of the area, and
/// what is missing at the top is idle. Longer cells, and gaps as long as
/// `shortest`, stay as they are.
Lane merge_short(const Lane& lane, Time shortest);

}  // namespace penstock
