#pragma once

#include <string>
#include <vector>

#include "experiments/input/scenario/take_stack.hpp"
#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// Standard deviations of a normal distribution, on each side, that hold `interval_level` of it.
constexpr double interval_deviations = 1.645;

/// Kernels from which on the time of a host for them does not show. 720 rows of vTrain on one
/// machine of A100, predicted by the catalogue unchanged, are 1 % too short at 120 to 160 us a
/// kernel, 19 % at 80 to 100, 36 % at 40 to 60, 51 % at 30 to 40 and 77 % at 10 to 20.
constexpr double short_kernel_us = 120;

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
  double value = 0;   // relative standard deviation
  double longer = 1;  // the interval reaches at least up to this many times the step
  std::string because;
  std::vector<std::string> beyond;  // why it is wider than that of the fitted runs
};

/// The spread of a stack's fitted runs, and wider for a run outside their sizes: half as wide again
/// each on more devices than any of them had, with fewer tokens for an expert, and with shorter
/// kernels. Below `short_kernel_us` the interval also reaches up to a step whose kernels take as
/// long as that, since the time of a host for a kernel differs between frameworks.
RunSpread spread_of(const Confidence& confidence, const RunSize& size);

/// That of a layout whose hardware has a stack.
RunSpread spread_of(const Layout& layout);

}  // namespace penstock
