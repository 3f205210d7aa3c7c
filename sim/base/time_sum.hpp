#pragma once

#include <compare>
#include <cstdint>

#include "sim/base/time.hpp"

namespace penstock {

/// Holds any sum of 64-bit numbers.
__extension__ using WideInteger = __int128;

/// A sum of times over ranks or ops, which may exceed the clock.
struct TimeSum {
  WideInteger picoseconds = 0;

  constexpr TimeSum() = default;
  constexpr TimeSum(Time time) : picoseconds(time.picoseconds) {}
  constexpr explicit TimeSum(WideInteger sum) : picoseconds(sum) {}

  friend constexpr auto operator<=>(TimeSum, TimeSum) = default;
  friend constexpr TimeSum operator+(TimeSum a, TimeSum b) { return a += b; }
  friend constexpr TimeSum operator-(TimeSum a, TimeSum b) {
    return TimeSum(a.picoseconds - b.picoseconds);
  }
  constexpr TimeSum& operator+=(TimeSum other) {
    picoseconds += other.picoseconds;
    return *this;
  }
};

constexpr double us_of(TimeSum sum) { return static_cast<double>(sum.picoseconds) / 1e6; }
constexpr TimeSum magnitude(TimeSum sum) { return sum < TimeSum{} ? TimeSum{} - sum : sum; }
/// The time, or the end of the clock.
constexpr Time within_clock(TimeSum sum) {
  return sum > max_time ? max_time : Time{static_cast<std::int64_t>(sum.picoseconds)};
}

}  // namespace penstock
