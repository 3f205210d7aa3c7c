#pragma once

#include <cstddef>
#include <vector>

#include "experiments/pictures/marks.hpp"

namespace penstock {

/// The corners of the n-th marker around a place. Different series get different shapes, of about
/// one area, so that they can be told apart without their colours.
std::vector<Point> marker(std::size_t series, Point at, double scale = 1);

}  // namespace penstock
