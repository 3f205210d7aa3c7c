#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/time.hpp"

namespace penstock {

/// A linear map from values to positions in a picture.
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
  /// `count` steps, as the double nearest to the decimal number.
  double times(double count) const;
  /// `count` steps as decimal text: "0.6".
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

/// Multiples of a round step from 0 to `end`, at most `most` steps; only 0 if `end` is not
/// positive.
std::vector<Tick> round_ticks(double end, int most);

/// Powers of two from `low` to `high`, both positive; if there are more than `most`, only every
/// second, third … If there are none, `low`.
std::vector<Tick> power_of_two_ticks(double low, double high, int most);

/// At most `most` ticks of a logarithmic axis from 10^low to 10^high, at their logarithms: 1, 2 and
/// 5 times powers of ten, or only the powers, or every second, third … of them. If fewer than two
/// fit on the axis, round values.
std::vector<Tick> log_ticks(double low, double high, int most);

/// The interval of labelled lanes, a power of two, so that labels are at least `apart` from each
/// other.
std::uint32_t lanes_per_label(double pitch, double apart);

}  // namespace penstock
