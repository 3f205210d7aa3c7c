#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/time.hpp"

namespace penstock {

/// A straight line from values to places in a picture.
struct Scale {
  double first;  // the value at `from`
  double last;   // the value at `to`
  double from;
  double to;
  double operator()(double value) const {
    return from + (value - first) / (last - first) * (to - from);
  }
};

/// 1, 2 or 5 times a power of ten.
struct RoundStep {
  int mantissa;
  int exponent;
  /// So many steps, the double nearest to the decimal number.
  double times(double count) const;
  /// The decimal text of so many steps: "0.6".
  std::string text(double count) const;
};

/// The smallest round step that reaches `end` in at most `most` steps.
RoundStep round_step(double end, int most);

/// A mark on an axis.
struct Tick {
  double at;
  std::string text;
  friend bool operator==(const Tick&, const Tick&) = default;
};

/// The multiples of a round step from 0 to `end`, at most `most` steps; 0 alone when `end` is not
/// above 0.
std::vector<Tick> round_ticks(double end, int most);

/// The powers of two from `low` to `high`, both above 0; when there are more than `most` of them
/// only every second, third … Where there is none, `low` itself.
std::vector<Tick> power_of_two_ticks(double low, double high, int most);

/// Ticks of a logarithmic axis from 10^low to 10^high, at their logarithms, at most `most`: 1, 2
/// and 5 times powers of ten, or the powers alone, or every second, third … of these. Where the
/// axis is too short for two of them, round values.
std::vector<Tick> log_ticks(double low, double high, int most);

/// Label every how many lanes, so that labels stay `apart` from one to the next: a power of two.
std::uint32_t lanes_per_label(double pitch, double apart);

}  // namespace penstock
