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

/// The colours around the ops; ops have those of the command line's pictures in every theme.
struct Theme {
  Colour ground;     // behind the lanes
  Colour lane;       // of a lane where nothing is known
  Colour panel;      // of docks and bars
  Colour ink;        // text
  Colour faint_ink;  // secondary text
  Colour grid;
  Colour accent;  // selection, marks, focus
  std::array<Colour, idle_cause_count> idle;
  std::array<Colour, idle_cause_count> idle_lines;  // the hatching over them

  /// Of work of any kind, beside idle time.
  Colour busy() const { return mix(panel, ink, 0.8); }
};
const Theme& theme(ThemeName name);
/// Of a cause where idle time is all that is drawn: its colour, as strong as text on a lane.
Colour heat_colour(const Theme& theme, std::size_t cause);

// Of differences between two runs: an op is later, or takes longer, than in A.
constexpr Colour later_colour{172, 79, 0};
constexpr Colour earlier_colour{111, 53, 179};

}  // namespace penstock
