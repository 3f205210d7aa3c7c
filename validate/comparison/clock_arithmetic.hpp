#pragma once

#include "sim/base/time.hpp"

namespace penstock {

/// The absolute value of a time.
constexpr Time magnitude(Time time) { return time < Time{} ? Time{} - time : time; }

/// Adds a length to a sum. Lengths from files may exceed the clock's range; the sum then saturates.
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
