#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

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

/// The ground of a picture: white paper, or a dark screen.
enum class PictureTheme : std::uint8_t { light, dark };

// The colours of all pictures. What can meet differs by at least 12 in CIEDE2000, also without one
// of the three kinds of cones.

constexpr Colour paper{255, 255, 255};
constexpr Colour ink{34, 38, 43};          // titles, labels
constexpr Colour faint_ink{98, 105, 114};  // subtitles and secondary text
constexpr Colour axis_line{140, 147, 156};
constexpr Colour grid_line{226, 229, 233};
constexpr Colour idle_ground{243, 244, 246};
constexpr Colour idle_hatch{219, 222, 227};

/// The colour of a pass. The chunks of a rank use shades of it, from full strength for the first to
/// paler for the last. On a dark ground, passes that are as dark have pale colours instead.
Colour pass_colour(Pass pass, std::uint32_t chunk = 0, std::uint32_t chunks = 1,
                   PictureTheme ground = PictureTheme::light);

/// Lines over a box, as a sum of directions.
enum class Hatch : std::uint8_t { rising = 1, falling = 2, level = 4, upright = 8, dotted = 16 };
constexpr bool has(Hatch hatch, Hatch direction) {
  return (static_cast<unsigned>(hatch) & static_cast<unsigned>(direction)) != 0;
}
constexpr Hatch operator|(Hatch one, Hatch other) {
  return static_cast<Hatch>(static_cast<unsigned>(one) | static_cast<unsigned>(other));
}

/// A hatch repeats after as many pixels in both directions.
constexpr int hatch_pixels = 6;
/// The pixels of a row of a hatch that are lines, a bit each.
constexpr unsigned hatch_row(Hatch hatch, int y) {
  constexpr unsigned all = (1U << hatch_pixels) - 1;
  const int row = y % hatch_pixels;
  const bool middle = row == hatch_pixels / 2;
  return (has(hatch, Hatch::rising) ? 1U << (hatch_pixels - 1 - row) : 0) |
         (has(hatch, Hatch::falling) ? 1U << row : 0) |
         (has(hatch, Hatch::level) && middle ? all : 0) |
         (has(hatch, Hatch::upright) ? 1U << hatch_pixels / 2 : 0) |
         (has(hatch, Hatch::dotted) && middle ? 3U << (hatch_pixels / 2 - 1) : 0);
}

/// The colour of idle time with a known cause. It is muted and drawn hatched, so that it is not
/// mistaken for a pass.
Colour idle_colour(IdleCause cause, PictureTheme ground = PictureTheme::light);
/// Lines of a colour of idle time; `letters` are those of its theme.
Colour idle_lines(Colour idle, Colour letters = ink);
/// Each cause has its own.
Hatch hatch_of(IdleCause cause);

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
/// The series that a name has, the same in every run.
std::size_t series_of(std::string_view name);
/// The line between the points of a series. Pale, so that a thin line is visible on it.
Colour joining_colour(std::size_t series);

/// The colour of a fraction from 0 to 1 of the maximum: pale to dark.
Colour share_colour(double share);

}  // namespace penstock
