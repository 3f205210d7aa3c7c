#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "sim/order/schedule.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/idle.hpp"

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

// The colours of all pictures. The strong ones are by Okabe and Ito, and remain distinguishable
// with the common kinds of colour blindness.

constexpr Colour paper{255, 255, 255};
constexpr Colour ink{34, 38, 43};          // titles, labels
constexpr Colour faint_ink{98, 105, 114};  // subtitles and secondary text
constexpr Colour axis_line{140, 147, 156};
constexpr Colour grid_line{226, 229, 233};
constexpr Colour idle_ground{243, 244, 246};
constexpr Colour idle_hatch{219, 222, 227};

/// The colour of a pass. The chunks of a rank use shades of it, from full strength for the first to
/// pale for the last.
Colour pass_colour(Pass pass, std::uint32_t chunk = 0, std::uint32_t chunks = 1);

/// The colour of idle time with a known cause. It is muted and drawn hatched, so that it is not
/// mistaken for a pass.
Colour idle_colour(IdleCause cause);
/// The hatching over it.
Colour idle_lines(IdleCause cause);

/// The outline of an activation that leaves its rank or, with `returns`, comes back.
Colour move_outline(bool returns);

/// The colour of what memory holds.
Colour memory_colour(BufferKind kind);

/// Marks the memory peak of a rank.
constexpr Colour peak_colour{213, 94, 0};

/// Dark or light ink, for the better contrast on `ground`.
Colour text_on(Colour ground);

/// The colour of the n-th series of a plot; repeats after `series_colours`.
Colour series_colour(std::size_t series);
constexpr std::size_t series_colours = 12;
/// The line between the points of a series. Pale, so that a thin line is visible on it.
Colour joining_colour(std::size_t series);

/// The colour of a fraction from 0 to 1 of the maximum: pale to dark.
Colour share_colour(double share);

}  // namespace penstock
