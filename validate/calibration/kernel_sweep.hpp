#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "validate/calibration/sweep_points.hpp"
#include "validate/store/profile_row.hpp"

namespace penstock {

/// `repeats` isolated durations of a kernel or of a pass of a layer, in nanoseconds; nothing if no
/// kernel here runs it, or it was measured in a run. Each sample follows a warm-up run, as in a
/// sweep.
std::optional<std::vector<double>> sample_kernel(const KernelPoint& point, std::uint32_t repeats);

/// A point with its samples, in the order they were taken.
struct SweptPoint {
  SweepPoint point;
  std::vector<double> samples_ns;
};

/// The result of a sweep.
struct Sweep {
  std::vector<SweptPoint> points;  // in the given order
  std::vector<double> canary_ns;   // a fixed piece of work, once per round
  std::vector<double> clock_ns;    // clock readings around an action, once per round
  std::uint32_t rounds = 0;
};

/// How long to sweep.
struct SweepLimits {
  double seconds = 5;
  std::uint32_t least_rounds = 8;  // the first quarter is dropped
  std::uint32_t most_rounds = 25;
  /// Called with the samples taken and the expected total. May be empty.
  std::function<void(std::uint64_t done, std::uint64_t total)> on_sample = {};
};

/// Takes one sample of each point per round until the time is up. Each round has another random
/// order, so drift affects all points alike. The first quarter of the samples is warm-up and
/// dropped.
Sweep sweep(const std::vector<SweepPoint>& points, std::uint64_t seed, const SweepLimits& limits);

}  // namespace penstock
