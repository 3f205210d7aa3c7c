#pragma once

#include <span>
#include <vector>

#include "hardware_models/spec/parameters.hpp"

namespace penstock {

/// A time at some shape.
struct ShapeTime {
  NamedNumbers shape;
  double ns = 0;
};

/// The distance of each time from the curve ln t = c + sum of a_i ln size_i through the others,
/// over their own spread (the externally studentized residual). Kernels seldom follow such a curve
/// as closely as their times repeat, so the spread is at least 1 %. Zero for all if too few points
/// are left, and for a point without which the others determine no curve.
std::vector<double> curve_residuals(std::span<const ShapeTime> times);

}  // namespace penstock
