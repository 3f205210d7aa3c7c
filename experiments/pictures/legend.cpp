#include "experiments/pictures/legend.hpp"

#include <algorithm>

#include "experiments/pictures/palette.hpp"

namespace penstock {
namespace {

constexpr double swatch_width = 18;
constexpr double widest_swatches = 72;  // of one entry together
constexpr double swatch_height = 15;
constexpr double name_gap = 6;    // between the colours and the name
constexpr double entry_gap = 20;  // between entries
constexpr TextStyle name_style{11, ink};

double colours_width(const LegendEntry& entry) {
  return std::min(swatch_width * static_cast<double>(entry.colours.size()), widest_swatches);
}

double entry_width(Canvas& canvas, const LegendEntry& entry) {
  const double name = canvas.text_width(entry.name, name_style);
  return entry.colours.empty() ? name : colours_width(entry) + name_gap + name;
}

void draw_colours(Canvas& canvas, Point at, const LegendEntry& entry) {
  const double step = colours_width(entry) / static_cast<double>(entry.colours.size());
  double x = at.x;
  for (const Colour colour : entry.colours) {
    const Rectangle swatch{x, at.y - swatch_height / 2, step - 0.5, swatch_height};
    canvas.fill(swatch, colour);
    if (entry.hatch) canvas.hatch({&swatch, 1}, 5, 0.75, *entry.hatch);
    if (entry.outline) canvas.outline({&swatch, 1}, 1.75, *entry.outline);
    x += step;
  }
  if (!entry.letter.empty()) {
    canvas.text({at.x + swatch_width / 2, at.y}, entry.letter,
                {10.5, text_on(entry.colours.front()), Align::centre});
  }
}

}  // namespace

void draw_legend(Canvas& canvas, Point at, double width, const std::vector<LegendEntry>& entries) {
  double needed = 0;
  for (const LegendEntry& entry : entries) needed += entry_width(canvas, entry) + entry_gap;
  const bool with_names = needed - entry_gap <= width;
  for (const LegendEntry& entry : entries) {
    if (!with_names && entry.letter.empty() && !entry.hatch && !entry.outline) continue;
    draw_colours(canvas, at, entry);
    if (with_names) {
      const double offset = entry.colours.empty() ? 0 : colours_width(entry) + name_gap;
      canvas.text({at.x + offset, at.y}, entry.name, name_style);
    }
    at.x += (with_names ? entry_width(canvas, entry) : colours_width(entry)) + entry_gap;
  }
}

}  // namespace penstock
