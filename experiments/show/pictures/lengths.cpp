#include "experiments/show/pictures/lengths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

struct LengthUnit {
  std::string_view name;
  double size;  // in 1/96 inch
};
constexpr std::array length_units{LengthUnit{"px", 1}, LengthUnit{"mm", 96 / 25.4},
                                  LengthUnit{"cm", 96 / 2.54}, LengthUnit{"in", 96},
                                  LengthUnit{"pt", 96.0 / 72}};
constexpr double longest_side = 16'000;

}  // namespace

std::optional<double> length_of(const char* option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  std::string_view number = text;
  double size = 1;
  for (const LengthUnit& unit : length_units) {
    if (!number.ends_with(unit.name)) continue;
    number = trimmed(number.substr(0, number.size() - unit.name.size()));
    size = unit.size;
    break;
  }
  const auto length = plain_number(number);
  if (!length) {
    throw UsageError(
        fmt::format("{} {}: expected a length in 1/96 inch, or one with px, mm, cm, in or pt: 85mm",
                    option, text));
  }
  const double side = *length * size;
  if (side >= 1 && side <= longest_side) return side;
  throw UsageError(
      fmt::format("{} is {}: expected 1 to {} (1/96 inch)", option, text, longest_side));
}

}  // namespace penstock
