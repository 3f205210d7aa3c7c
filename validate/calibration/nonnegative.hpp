#pragma once

#include <span>
#include <vector>

namespace penstock {

/// One equation: the sum of factors times unknowns should be the given value.
struct Equation {
  std::vector<double> factors;
  double wanted = 0;
};

/// Least squares with unknowns of at least zero: the active-set method of C. L. Lawson and R. J.
/// Hanson, "Solving Least Squares Problems" (1974), chapter 23. Columns are scaled to length 1, so
/// terms may differ in magnitude. All equations have equally many factors. An unknown whose factors
/// are all zero is zero.
std::vector<double> solve_nonnegative(std::span<const Equation> equations);

/// Condition number of the scaled columns: the largest over the smallest singular value. 1: the
/// unknowns are independent; infinite: they cannot be separated.
double condition(std::span<const Equation> equations);

}  // namespace penstock
