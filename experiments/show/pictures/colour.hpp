#pragma once

#include <cmath>
#include <cstdint>

namespace penstock {

/// An opaque sRGB colour.
struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  friend constexpr bool operator==(Colour, Colour) = default;
};

/// The colour at `share` of the way from one to another, channel by channel.
inline Colour mix(Colour from, Colour to, double share) {
  const auto channel = [share](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(std::lround(a + (b - a) * share));
  };
  return {channel(from.red, to.red), channel(from.green, to.green), channel(from.blue, to.blue)};
}

/// The relative luminance of WCAG 2, 0 (black) to 1 (white).
inline double luminance(Colour colour) {
  const auto linear = [](std::uint8_t channel) {
    const double value = channel / 255.0;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
}

/// The contrast ratio of WCAG 2, 1 to 21.
inline double contrast(Colour a, Colour b) {
  const double one = luminance(a) + 0.05;
  const double two = luminance(b) + 0.05;
  return one > two ? one / two : two / one;
}

}  // namespace penstock
