#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "validate/calibration/sweep_points.hpp"
#include "validate/store/profile_row.hpp"

namespace penstock {

/// So many times what a kernel, or a pass of a layer, takes by itself, in nanoseconds; nothing for
/// what nothing here can run. Each sample is taken behind one that warms up, as those of a sweep.
std::optional<std::vector<double>> sample_kernel(const KernelPoint& point, std::uint32_t repeats);

/// A point with its samples, in the order they were taken.
struct SweptPoint {
  SweepPoint point;
  std::vector<double> samples_ns;
};

/// What a sweep came to.
struct Sweep {
  std::vector<SweptPoint> points;  // as they were given
  std::vector<double> canary_ns;   // a fixed piece of work, once each round
  std::vector<double> clock_ns;    // the readings of the clock around an action, the same
  std::uint32_t rounds = 0;
};

/// How long to sweep.
struct SweepLimits {
  double seconds = 5;
  std::uint32_t least_rounds = 8;  // of which a quarter is dropped
  std::uint32_t most_rounds = 25;
  /// Called with how many samples were taken of how many, as far as time tells. May be empty.
  std::function<void(std::uint64_t done, std::uint64_t total)> on_sample = {};
};

/// Takes one sample of each point a round, in another random order each time, so that whatever
/// drifts does so for all of them, until the time is up. The first quarter of the samples warms up
/// and is dropped.
Sweep sweep(const std::vector<SweepPoint>& points, std::uint64_t seed, const SweepLimits& limits);

}  // namespace penstock
