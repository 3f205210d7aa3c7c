#include "gui/models/drawing/theme.hpp"

#include <algorithm>
#include <cmath>

#include "experiments/show/pictures/palette.hpp"

namespace penstock {
namespace {

// Searched like the palette: of the hues of idle time by cause, apart for everybody.
constexpr std::array<Colour, idle_cause_count> light_heat{{{68, 108, 129},
                                                           {110, 109, 8},
                                                           {19, 23, 3},
                                                           {43, 9, 102},
                                                           {79, 65, 7},
                                                           {65, 62, 165},
                                                           {146, 88, 84}}};
constexpr std::array<Colour, idle_cause_count> dark_heat{{{180, 177, 255},
                                                          {155, 141, 101},
                                                          {253, 217, 239},
                                                          {139, 133, 205},
                                                          {214, 247, 202},
                                                          {127, 209, 130},
                                                          {204, 160, 176}}};

Theme with_idle(Theme theme, PictureTheme ground) {
  theme.kind = ground;
  theme.heat = ground == PictureTheme::dark ? dark_heat : light_heat;
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    theme.idle[c] = idle_colour(static_cast<IdleCause>(c), ground);
    theme.idle_lines[c] = idle_lines(theme.idle[c], theme.ink);
  }
  return theme;
}

const Theme light = with_idle({.ground = paper,
                               .lane = idle_ground,
                               .panel = {250, 250, 251},
                               .ink = ink,
                               .faint_ink = faint_ink,
                               .grid = grid_line,
                               .accent = {0, 92, 170},
                               .warning = {172, 30, 0}},
                              PictureTheme::light);
const Theme dark = with_idle({.ground = {24, 27, 31},
                              .lane = {33, 37, 43},
                              .panel = {36, 40, 46},
                              .ink = {228, 231, 235},
                              .faint_ink = {163, 170, 179},
                              .grid = {52, 57, 65},
                              .accent = {120, 190, 255},
                              .warning = {255, 138, 101}},
                             PictureTheme::dark);
const Theme high_contrast = with_idle({.ground = {0, 0, 0},
                                       .lane = {0, 0, 0},
                                       .panel = {0, 0, 0},
                                       .ink = {255, 255, 255},
                                       .faint_ink = {230, 230, 230},
                                       .grid = {120, 120, 120},
                                       .accent = {255, 255, 0},
                                       .warning = {255, 150, 60}},
                                      PictureTheme::dark);

}  // namespace

std::string_view name(ThemeName name) {
  constexpr std::array<std::string_view, theme_count> names{"light", "dark", "contrast"};
  return names[static_cast<std::size_t>(name)];
}

Colour heat_shade(Colour ground, Colour heat, double share) {
  return mix(ground, heat, std::sqrt(std::clamp(share, 0.0, 1.0)));
}

const Theme& theme(ThemeName name) {
  if (name == ThemeName::dark) return dark;
  return name == ThemeName::contrast ? high_contrast : light;
}

}  // namespace penstock
