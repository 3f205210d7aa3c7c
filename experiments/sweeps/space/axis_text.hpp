#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/sweeps/space/axis.hpp"

namespace penstock {

/// Numbers from one to another, as a user gives them: with one of step, factor and points, or with
/// none for a sample.
struct ProgressionText {
  double from = 0;
  double to = 0;
  std::optional<double> step = {};
  std::optional<double> factor = {};
  std::optional<std::uint64_t> points = {};
  bool logarithmic = false;
  std::optional<bool> whole = {};
};

/// Throws InputError without a place.
Progression progression_of(const ProgressionText& text);

/// An axis of the command line: "/pointer=a,b,c", "/pointer=8..64:8" (step 8), "/pointer=1..64*2"
/// (factor 2), "/pointer=0.1..0.9" (for a sample; whole numbers have step 1), and with & between
/// them pointers that take their values together. Numbers of a range may have the units that their
/// key allows: "/hardware/bandwidth_bytes_per_s=1GB/s..64GB/s*2". Throws UsageError.
Axis axis_of(const std::string& text);

/// Throws InputError at `place` for a text that is no JSON pointer.
void check_pointer(const std::string& pointer, const std::string& place);

}  // namespace penstock
