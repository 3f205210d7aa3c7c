#include "experiments/input/long_work/messages.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace penstock {
namespace {

/// The bytes that follow the first one of a character in UTF-8.
int following(unsigned char first) {
  return first < 0xc2 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr unsigned char leads_to_controls = 0xc2;  // U+0080 to U+009F
  std::string safe;
  safe.reserve(text.size());
  int inside = 0;  // bytes left of a character
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool continues = byte >= 0x80 && byte < 0xc0;
    const bool lone = continues && inside == 0;
    const bool high = continues && byte < 0xa0 && !safe.empty() &&
                      static_cast<unsigned char>(safe.back()) == leads_to_controls;
    if (high) safe.pop_back();
    if (lone || high || (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
      safe += fmt::format("\\u{:04x}", byte);
    } else {
      safe += c;
    }
    inside = continues && inside > 0 ? inside - 1 : following(byte);
  }
  return safe;
}

void say(std::string_view line) {
  // fmt::print would throw if stderr is closed or full.
  std::fputs(fmt::format("penstock: {}\n", printable(line)).c_str(), stderr);
}

void show(std::string_view text) { fmt::print("{}", printable(text)); }

}  // namespace penstock
