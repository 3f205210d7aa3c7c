#include "experiments/input/files/decimal_time.hpp"

#include <charconv>
#include <string>

#include "experiments/input/files/plain_text.hpp"

namespace penstock {
namespace {

/// A decimal number as digits and the position of its point.
struct Decimal {
  bool negative = false;
  std::string digits;
  std::int64_t point = 0;  // digits before the decimal point; may lie outside them
};

std::optional<Decimal> parse(std::string_view text) {
  Decimal number;
  std::size_t at = 0;
  if (at < text.size() && text[at] == '-') number.negative = ++at > 0;
  for (; at < text.size() && is_digit(text[at]); ++at) number.digits += text[at];
  number.point = static_cast<std::int64_t>(number.digits.size());
  if (at < text.size() && text[at] == '.') {
    for (++at; at < text.size() && is_digit(text[at]); ++at) number.digits += text[at];
  }
  if (number.digits.empty()) return std::nullopt;
  if (at == text.size()) return number;
  if (text[at] != 'e' && text[at] != 'E') return std::nullopt;
  std::int32_t exponent = 0;
  const char* first = text.data() + at + 1;
  const char* const end = text.data() + text.size();
  if (first != end && *first == '+') ++first;
  const auto [rest, error] = std::from_chars(first, end, exponent);
  if (error != std::errc{} || rest != end) return std::nullopt;
  number.point += exponent;
  return number;
}

}  // namespace

std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds, std::int64_t most_ns) {
  const std::optional<Decimal> number = parse(microseconds);
  if (!number) return std::nullopt;
  const std::int64_t places = number->point + 3;  // digits before the decimal point in ns
  const auto count = static_cast<std::int64_t>(number->digits.size());
  std::int64_t value = 0;
  for (std::int64_t place = 0; place < places; ++place) {
    const int digit = place < count ? number->digits[static_cast<std::size_t>(place)] - '0' : 0;
    if (value == 0 && place >= count) break;
    if (value > (most_ns - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  const bool up =
      places >= 0 && places < count && number->digits[static_cast<std::size_t>(places)] >= '5';
  if (up && value < most_ns) ++value;
  return number->negative ? -value : value;
}

}  // namespace penstock
