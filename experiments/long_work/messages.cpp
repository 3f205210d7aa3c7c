#include "experiments/long_work/messages.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace penstock {
namespace {

/// A character and its length; 0 for bytes that are no UTF-8.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = first & (0xff >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool too_long = code < (bytes == 4 ? 0x10000U : bytes == 3 ? 0x800U : 0x80U);
  if (too_long || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, bytes};
}

bool is_control(std::uint32_t code) {
  return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code <= 0x9f);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const Character next = first_of(text);
    if (next.bytes == 0) {
      safe += "\xef\xbf\xbd";
    } else if (is_control(next.code)) {
      safe += fmt::format("\\u{:04x}", next.code);
    } else {
      safe += text.substr(0, next.bytes);
    }
    text.remove_prefix(next.bytes == 0 ? 1 : next.bytes);
  }
  return safe;
}

void say(std::string_view line) {
  // fmt::print would throw if stderr is closed or full.
  std::fputs(fmt::format("penstock: {}\n", printable(line)).c_str(), stderr);
}

void show(std::string_view text) { fmt::print("{}", printable(text)); }

}  // namespace penstock
