#pragma once

#include <string>
#include <vector>

#include "experiments/input/scenario/take_stack.hpp"
#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// Standard deviations of a normal distribution, on each side, that hold `interval_level` of it.
constexpr double interval_deviations = 1.645;

/// The sizes of a run by which it may lie outside the runs that constants were fitted to; 0: it has
/// none.
struct RunSize {
  double devices = 0;
  double kernel_us = 0;      // mean time of a kernel that a host launches
  double expert_tokens = 0;  // of the smallest product of experts, for one expert
};
RunSize size_of(const Layout& layout);

/// How far a real step time may lie from the simulated one.
struct RunSpread {
  double value = 0;  // relative standard deviation
  std::string because;
  std::vector<std::string> beyond;  // why it is wider than that of the fitted runs
};

/// The spread of a stack's fitted runs, and wider for a run outside their sizes:
/// - half as wide again on more devices than any of them had, and with fewer tokens for an expert;
/// - where kernels are shorter than in any of them, so wide that the interval holds a step whose
///   kernels take as long as there: the time of a host for a kernel differs between frameworks. On
///   720 rows of vTrain on one machine, catalogue unchanged, step times are 1 % too short at 120 to
///   160 us a kernel, 18 % at 60 to 80, 52 % at 30 to 40 and 77 % at 15 to 20.
RunSpread spread_of(const Confidence& confidence, const RunSize& size);

/// That of a layout whose hardware has a stack.
RunSpread spread_of(const Layout& layout);

}  // namespace penstock
