#include "sim/base/time.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace penstock {

Time from_us(double microseconds) {
  // The default rounding mode is to nearest, ties to even.
  return {std::llrint(microseconds * 1e6)};
}

Time later(Time moment, double picoseconds) {
  constexpr double end = 9.2e18;
  if (static_cast<double>(moment.picoseconds) + picoseconds > end) return max_time;
  return moment + Time{std::llrint(picoseconds)};
}

std::string text_us(Time time) {
  constexpr std::int64_t per_us = 1'000'000;
  const bool negative = time.picoseconds < 0;
  const std::uint64_t size = negative ? 0 - static_cast<std::uint64_t>(time.picoseconds)
                                      : static_cast<std::uint64_t>(time.picoseconds);
  std::string text = fmt::format("{}{}", negative ? "-" : "", size / per_us);
  if (const std::uint64_t rest = size % per_us; rest != 0) {
    text += fmt::format(".{:06}", rest);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

TimeUnit unit_for(Time longest) {
  constexpr TimeUnit microseconds{"µs", 1'000'000};
  constexpr std::array<TimeUnit, 5> units{
      {{"s", 1'000'000'000'000}, {"ms", 1'000'000'000}, microseconds, {"ns", 1'000}, {"ps", 1}}};
  for (const TimeUnit& unit : units) {
    if (longest.picoseconds >= unit.picoseconds) return unit;
  }
  return microseconds;
}

}  // namespace penstock
