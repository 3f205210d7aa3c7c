#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace penstock {

/// A moment or a duration in integer picoseconds, so that equal inputs give equal bytes on every
/// machine.
struct Time {
  std::int64_t picoseconds = 0;

  friend constexpr auto operator<=>(Time, Time) = default;
  friend constexpr Time operator+(Time a, Time b) { return {a.picoseconds + b.picoseconds}; }
  friend constexpr Time operator-(Time a, Time b) { return {a.picoseconds - b.picoseconds}; }
  constexpr Time& operator+=(Time other) {
    picoseconds += other.picoseconds;
    return *this;
  }
  constexpr Time& operator-=(Time other) {
    picoseconds -= other.picoseconds;
    return *this;
  }
};

constexpr Time max_time{std::numeric_limits<std::int64_t>::max()};

/// Rounds once to picoseconds, half to even. `microseconds` must be finite and below 9e12.
Time from_us(double microseconds);

/// This many picoseconds after a moment, rounded half to even, saturating at the end of the clock.
/// For events that may be superseded.
Time later(Time moment, double picoseconds);

/// Whole nanoseconds, the unit of machine clocks. `nanoseconds` must be within 9e15, 104 days.
constexpr Time from_ns(std::int64_t nanoseconds) { return {nanoseconds * 1000}; }
constexpr std::int64_t to_ns(Time time) { return time.picoseconds / 1000; }

/// The nearest double; a division, because 1e-6 itself is not exact.
constexpr double to_us(Time time) { return static_cast<double>(time.picoseconds) / 1e6; }

/// Exact decimal text in microseconds without trailing zeros: 1500000 ps is "1.5".
std::string text_us(Time time);

/// A unit for displaying times.
struct TimeUnit {
  std::string_view name;
  std::int64_t picoseconds;
  friend bool operator==(const TimeUnit&, const TimeUnit&) = default;
};

/// The largest of s, ms, µs, ns and ps not above `longest`; µs for zero.
TimeUnit unit_for(Time longest);

}  // namespace penstock
