#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "experiments/show/pictures/palette.hpp"
#include "sim/report/idle.hpp"

namespace penstock {

enum class ThemeName : std::uint8_t { light, dark, contrast };
constexpr std::size_t theme_count = 3;
/// "light", "dark", "contrast".
std::string_view name(ThemeName name);

/// The colours around the ops; ops have those of the command line's pictures on light or on dark
/// ground.
struct Theme {
  Colour ground;     // behind the lanes
  Colour lane;       // of a lane where nothing is known
  Colour panel;      // of docks and bars
  Colour ink;        // text
  Colour faint_ink;  // secondary text
  Colour grid;
  Colour accent;   // selection, marks, focus
  Colour warning;  // text: what does not fit
  PictureTheme kind = PictureTheme::light;
  std::array<Colour, idle_cause_count> idle{};
  std::array<Colour, idle_cause_count> idle_lines{};  // the hatching over them
  // Where idle time is all that is drawn: as strong as text on a lane, and unlike each other.
  std::array<Colour, idle_cause_count> heat{};

  /// Of work of any kind, beside idle time.
  Colour busy() const { return mix(panel, ink, 0.8); }
};
const Theme& theme(ThemeName name);
/// What is `share` idle, in the colour of its causes, on a lane or on another ground. A tenth of
/// idle time is seen at a glance.
Colour heat_shade(Colour ground, Colour heat, double share);

// Of differences between two runs: an op is later, or takes longer, than in A.
constexpr Colour later_colour{172, 79, 0};
constexpr Colour earlier_colour{111, 53, 179};

}  // namespace penstock
