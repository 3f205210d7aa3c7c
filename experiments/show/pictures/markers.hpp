#pragma once

#include <cstddef>
#include <vector>

#include "experiments/show/pictures/marks.hpp"

namespace penstock {

/// The corners of the n-th marker around a point. Markers of different series have different shapes
/// of about the same area, so they are distinguishable without colour.
std::vector<Point> marker(std::size_t series, Point at, double scale = 1);

}  // namespace penstock
