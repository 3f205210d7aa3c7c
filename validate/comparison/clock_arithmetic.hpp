#pragma once

#include "sim/base/time.hpp"

namespace penstock {

/// A length of time, whatever its sign.
constexpr Time magnitude(Time time) { return time < Time{} ? Time{} - time : time; }

/// Adds a length to a sum. Lengths that come from files may add up to more than the clock reaches
/// to; the sum then stays at its end.
inline void add_within_clock(Time& sum, Time length) {
  const Time none{};
  const Time least = none - max_time;
  if (length > none && sum > max_time - length) {
    sum = max_time;
  } else if (length < none && sum < least - length) {
    sum = least;
  } else {
    sum += length;
  }
}

}  // namespace penstock
