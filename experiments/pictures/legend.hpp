#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/pictures/canvas.hpp"

namespace penstock {

/// What some colours of a picture mean.
struct LegendEntry {
  std::vector<Colour> colours;  // side by side; none: nothing but the name
  std::string letter;           // written into the first colour
  std::string name;
  std::optional<Colour> hatch = {};  // the lines over the colours, as idle time has them
  std::optional<Colour> outline = {};
};

/// Draws entries in one row; names are left out when the row would be wider than `width`. `at` is
/// the left end, half-way up.
void draw_legend(Canvas& canvas, Point at, double width, const std::vector<LegendEntry>& entries);

}  // namespace penstock
