#include "experiments/sweeps/space/axis_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/files/json_input.hpp"
#include "experiments/files/plain_text.hpp"
#include "experiments/files/quantity.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

constexpr double most_points = 1e9;

bool is_whole(double value) { return value == std::floor(value); }

/// How many steps of a size fit, with a little air for rounding.
std::uint64_t steps_of(double ratio) {
  if (!(ratio >= 0 && ratio < most_points)) throw InputError("it has more than 1e9 numbers");
  return static_cast<std::uint64_t>(std::floor(ratio + 1e-9)) + 1;
}

/// A number, or, where its kind is known, one with a unit: "2GB/s".
std::optional<double> number_of(std::string_view text, std::optional<QuantityKind> kind) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) return value;
  if (!kind || error != std::errc{}) return std::nullopt;
  try {
    return quantity_of(text, *kind);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// "8..64:8" and its like; nothing for any other value.
std::optional<ProgressionText> range_of(std::string_view text, std::optional<QuantityKind> kind) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  std::string_view last = text.substr(dots + 2);
  const std::size_t sign = last.find_first_of(":*");
  const std::string_view by = sign == std::string_view::npos ? "" : last.substr(sign + 1);
  const auto from = number_of(text.substr(0, dots), kind);
  const auto to = number_of(last.substr(0, sign), kind);
  if (!from || !to) return std::nullopt;
  ProgressionText range{.from = *from, .to = *to};
  if (sign == std::string_view::npos) {
    if (is_whole(*from) && is_whole(*to)) range.step = 1;
    return range;
  }
  const auto size = number_of(by, last[sign] == ':' ? kind : std::nullopt);
  if (!size) throw InputError(fmt::format("\"{}\" is no number", by));
  (last[sign] == ':' ? range.step : range.factor) = *size;
  return range;
}

/// Splits at a sign outside of brackets and quotes.
std::vector<std::string> split_outside(const std::string& text, char sign) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ']' || c == '}')) --depth;
    if (c == sign && depth == 0 && !quoted) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

AxisValues values_of_text(const std::string& text, std::optional<QuantityKind> kind) {
  if (const auto range = range_of(text, kind))
    return {.list = {}, .progression = progression_of(*range)};
  AxisValues values;
  for (const std::string& part : split_outside(text, ',')) {
    if (part.empty()) throw InputError("a value is empty");
    values.list.push_back(typed_value(part).dump());
  }
  return values;
}

}  // namespace

void check_pointer(const std::string& pointer, const std::string& place) {
  try {
    check_depth(pointer);
  } catch (const InputError& error) {
    throw InputError(shortened(place, 240), error.what());
  }
  try {
    if (pointer.size() > 1 && pointer.front() == '/') return (void)json::json_pointer(pointer);
  } catch (const json::exception&) {
    // Reported below.
  }
  throw InputError(place,
                   fmt::format("\"{}\" is no JSON pointer, such as /schedule/name", pointer));
}

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

Axis axis_of(const std::string& text) {
  Axis axis;
  for (const std::string& part : split_outside(text, '&')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || !part.starts_with('/')) {
      throw UsageError(
          fmt::format("--vary {}: expected /POINTER=A,B,… or /POINTER=FROM..TO:STEP", text));
    }
    try {
      check_pointer(part.substr(0, equals), "");
      const std::string pointer = part.substr(0, equals);
      axis.pointers.push_back(pointer);
      const auto kind = measure_of_key(std::string_view(pointer).substr(pointer.rfind('/') + 1));
      axis.values.push_back(values_of_text(part.substr(equals + 1), kind));
    } catch (const InputError& error) {
      throw UsageError(fmt::format("--vary {}: {}", shortened(part, 240), error.what()));
    }
  }
  return axis;
}

}  // namespace penstock
