#pragma once

#include <span>
#include <vector>

namespace penstock {

/// Factors of some unknowns, and what these, each times its factor, should add up to.
struct Equation {
  std::vector<double> factors;
  double wanted = 0;
};

/// The unknowns, none of them below zero, for which the squares of what the equations miss add up
/// to the least: the active-set method of C. L. Lawson and R. J. Hanson, "Solving Least Squares
/// Problems" (1974), chapter 23, on columns that were scaled to length 1, so that terms of any size
/// go together. All equations have as many factors. An unknown whose factors are all zero is zero.
std::vector<double> solve_nonnegative(std::span<const Equation> equations);

/// How well the unknowns can be told apart: the largest over the smallest singular value of the
/// scaled columns. 1: each for itself; infinite: not at all.
double condition(std::span<const Equation> equations);

}  // namespace penstock
