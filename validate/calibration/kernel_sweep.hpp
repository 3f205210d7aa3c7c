#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/base/parameters.hpp"
#include "validate/calibration/term_model.hpp"
#include "validate/probes/registry.hpp"
#include "validate/store/layer_point.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {

struct SweepPoint {
  KernelPoint kernel;
  NamedNumbers sizes;
  DataPart part = DataPart::training;
};

/// The points at which kernels are measured, evenly spread in the logarithm of size. The largest
/// are held out for extrapolation. Of the others, a third is held out for interpolation, chosen by
/// a hash of seed and point.
std::vector<SweepPoint> sweep_points(std::uint64_t seed);

/// Equal for equal splits into parts.
std::uint64_t split_hash(const std::vector<SweepPoint>& points);

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

/// Runs a pass of a layer alone, as on a rank with its own device; inputs are prepared untimed.
/// Nothing for layers that no kernel here runs, or above 1e10 FLOP or 1 GiB.
std::optional<Sampler> layer_sampler(const LayerPoint& layer);

}  // namespace penstock
