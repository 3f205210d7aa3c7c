#pragma once

#include <algorithm>
#include <cmath>

#include "sim/base/time.hpp"

namespace penstock {

/// A time scaled by a factor, rounded half to even; out of range becomes a value beyond the clock,
/// which `check_clock` rejects.
inline Time scaled(Time time, double factor) {
  if (factor == 1) return time;  // times above 2^53 ps are not exact as doubles
  constexpr double most_picoseconds = 9.1e18;
  return {std::llrint(std::min(static_cast<double>(time.picoseconds) * factor, most_picoseconds))};
}

}  // namespace penstock
