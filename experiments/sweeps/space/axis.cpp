#include "experiments/sweeps/space/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/base/portable_math.hpp"

namespace penstock {
namespace {

double rounded(double value, bool whole) {
  if (whole) return std::round(value);
  const std::string text = fmt::format("{:.12g}", value);
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

}  // namespace

double Progression::between(double share) const {
  if (share <= 0) return rounded(from, whole);
  if (share >= 1) return rounded(to, whole);
  if (!logarithmic) return rounded(from + (to - from) * share, whole);
  const double low = portable_log(from), high = portable_log(to);
  return rounded(portable_exp(low + (high - low) * share), whole);
}

double Progression::at(std::uint64_t i) const {
  return between(count < 2 ? 0 : static_cast<double>(i) / static_cast<double>(count - 1));
}

std::string AxisValues::text(std::uint64_t i) const {
  return progression ? json_number(progression->at(i)) : list[i];
}

std::string AxisValues::text_at(double share) const {
  if (is_continuous()) {
    if (!progression->whole) return json_number(progression->between(share));
    // Every whole number is as likely as any other, the ends too.
    Progression wider = *progression;
    wider.whole = false;
    wider.from -= 0.5;
    wider.to += 0.5;
    const double value = std::round(wider.between(share));
    return json_number(std::clamp(value, progression->from, progression->to));
  }
  const std::uint64_t count = size();
  return text(std::min(count - 1, static_cast<std::uint64_t>(share * static_cast<double>(count))));
}

std::string json_number(double value) {
  // Whole numbers up to 2^53 without an exponent: counts must be integers in JSON.
  if (value == std::floor(value) && std::abs(value) < 9007199254740992.0) {
    return fmt::format("{}", static_cast<std::int64_t>(value));
  }
  return fmt::format("{}", value);
}

}  // namespace penstock
