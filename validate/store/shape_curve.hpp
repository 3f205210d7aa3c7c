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

/// How far each time is from the curve ln t = c + sum of a_i ln size_i through the others, over how
/// far these are from it (the externally studentized residual). Curves of a kernel are seldom as
/// straight as their points are sharp, so that spread counts as 1 % at least. Zero for all where
/// too few points are left to tell, and for one without which the others have no curve.
std::vector<double> curve_residuals(std::span<const ShapeTime> times);

}  // namespace penstock
