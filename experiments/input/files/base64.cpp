#include "experiments/input/files/base64.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t no_letter = 64;

constexpr std::array<std::uint8_t, 256> values_of_letters() {
  std::array<std::uint8_t, 256> values{};
  values.fill(no_letter);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned three = 0;
    for (std::size_t b = 0; b < 3; ++b) {
      three = three << 8 | (i + b < bytes.size() ? static_cast<unsigned char>(bytes[i + b]) : 0U);
    }
    for (int c = 3; c >= 0; --c) text += alphabet[three >> 6 * c & 63];
  }
  for (std::size_t missing = (3 - bytes.size() % 3) % 3; missing > 0; --missing) {
    text[text.size() - missing] = '=';
  }
  return text;
}

std::optional<std::string> bytes_of_base64(std::string_view text) {
  static constexpr std::array<std::uint8_t, 256> values = values_of_letters();
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t missing = 0;
  while (missing < 2 && text.ends_with('=')) text.remove_suffix(1), ++missing;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  unsigned held = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint8_t value = values[static_cast<unsigned char>(text[i])];
    if (value == no_letter) return std::nullopt;
    held = held << 6 | value;
    if (i % 4 != 0) bytes += static_cast<char>(held >> (6 - i % 4 * 2) & 255);
  }
  return bytes;
}

}  // namespace penstock
