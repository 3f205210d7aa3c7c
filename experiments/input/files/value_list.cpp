#include "experiments/input/files/value_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/base/error.hpp"
#include "sim/base/portable_math.hpp"

namespace penstock {
namespace {

constexpr double most_points = 1e9;

bool is_whole(double value) { return value == std::floor(value); }

/// How many steps of a size fit, with a little air for rounding.
std::uint64_t steps_of(double ratio) {
  if (!(ratio >= 0 && ratio < most_points)) throw InputError("it has more than 1e9 numbers");
  return static_cast<std::uint64_t>(std::floor(ratio + 1e-9)) + 1;
}

double rounded(double value, bool whole) {
  if (whole) return std::round(value);
  const std::string text = fmt::format("{:.12g}", value);
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

}  // namespace

Progression progression_of(const ProgressionText& text) {
  const auto& [from, to, step, factor, points, logarithmic, whole] = text;
  if (to < from) throw InputError(fmt::format("it goes from {} down to {}", from, to));
  if ((step ? 1 : 0) + (factor ? 1 : 0) + (points ? 1 : 0) > 1) {
    throw InputError("\"step\", \"factor\" and \"points\" exclude each other");
  }
  Progression all{.from = from, .to = to, .logarithmic = logarithmic || factor};
  if (all.logarithmic && from <= 0) throw InputError("equal factors start above 0");
  all.whole = whole.value_or(is_whole(from) && is_whole(to) && is_whole(step.value_or(1)) &&
                             is_whole(factor.value_or(1)) && (!points || step || factor));
  if (points) all.count = *points;
  if (step) {
    if (logarithmic) throw InputError("equal factors have no step; give \"factor\" or \"points\"");
    if (!(*step > 0)) throw InputError("the step must be above 0");
    all.count = steps_of((to - from) / *step);
    all.to = from + *step * static_cast<double>(all.count - 1);
  }
  if (factor) {
    if (!(*factor > 1)) throw InputError("the factor must be above 1");
    all.count = steps_of(std::log(to / from) / std::log(*factor));
    all.to = from;
    for (std::uint64_t i = 1; i < all.count; ++i) all.to *= *factor;
  }
  return all;
}

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

std::string ValueList::text(std::uint64_t i) const {
  return progression ? json_number(progression->at(i)) : list[i];
}

std::string ValueList::text_at(double share) const {
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
