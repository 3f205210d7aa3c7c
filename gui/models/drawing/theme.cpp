#include "gui/models/drawing/theme.hpp"

#include "experiments/show/pictures/palette.hpp"

namespace penstock {
namespace {

Theme with_idle(Theme theme, PictureTheme ground) {
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
                               .idle = {},
                               .idle_lines = {}},
                              PictureTheme::light);
const Theme dark = with_idle({.ground = {24, 27, 31},
                              .lane = {33, 37, 43},
                              .panel = {36, 40, 46},
                              .ink = {228, 231, 235},
                              .faint_ink = {163, 170, 179},
                              .grid = {52, 57, 65},
                              .accent = {120, 190, 255},
                              .idle = {},
                              .idle_lines = {}},
                             PictureTheme::dark);
const Theme high_contrast = with_idle({.ground = {0, 0, 0},
                                       .lane = {0, 0, 0},
                                       .panel = {0, 0, 0},
                                       .ink = {255, 255, 255},
                                       .faint_ink = {230, 230, 230},
                                       .grid = {120, 120, 120},
                                       .accent = {255, 255, 0},
                                       .idle = {},
                                       .idle_lines = {}},
                                      PictureTheme::dark);

}  // namespace

std::string_view name(ThemeName name) {
  constexpr std::array<std::string_view, theme_count> names{"light", "dark", "contrast"};
  return names[static_cast<std::size_t>(name)];
}

Colour heat_colour(const Theme& theme, std::size_t cause) {
  const Colour from = theme.lane;
  const Colour to = theme.idle_lines[cause];
  Colour heat = to;
  for (double share = 1; share < 6 && contrast(heat, from) < 4.5; share += 0.25) {
    const auto further = [share](std::uint8_t a, std::uint8_t b) {
      return static_cast<std::uint8_t>(std::clamp(a + (b - a) * share, 0.0, 255.0));
    };
    heat = {further(from.red, to.red), further(from.green, to.green), further(from.blue, to.blue)};
  }
  return heat;
}

const Theme& theme(ThemeName name) {
  if (name == ThemeName::dark) return dark;
  return name == ThemeName::contrast ? high_contrast : light;
}

}  // namespace penstock
