#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/show/pictures/axis.hpp"
#include "experiments/show/pictures/canvas.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "experiments/show/pictures/picture.hpp"

namespace penstock {

// Margins, headings, text styles and axis labels for all pictures.

constexpr double page_margin = 28;
constexpr TextStyle label_style{11, ink};
constexpr TextStyle tick_style{10.5, faint_ink};

constexpr TextStyle aligned(TextStyle style, Align align) {
  style.align = align;
  return style;
}

/// Margin and inner width of a page; narrow pages have narrow margins.
double margin_of(const Page& page);
double inner_width(const Page& page);

/// Draws the title and the subtitle below it, wrapped, and returns where the picture begins. An
/// empty title or subtitle takes no room.
double draw_heading(Page& page, const std::string& title, const std::string& subtitle);

/// Draws texts below each other from `top`, wrapped at the page width; returns where they end.
double draw_notes(Page& page, double top, const std::vector<std::string>& notes);

/// The width of the widest of the texts of items.
template <class Items, class Text = std::identity>
double widest_text(Canvas& canvas, const Items& items, const TextStyle& style, Text text = {}) {
  double widest = 0;
  for (const auto& item : items) {
    widest = std::max(widest, canvas.text_width(std::invoke(text, item), style));
  }
  return widest;
}

/// Whether tick labels fit next to each other with a gap, if one unit of `Tick::at` is `per_unit`
/// wide.
bool labels_fit(Canvas& canvas, const std::vector<Tick>& ticks, double per_unit);

/// Round ticks from 0 to `end` along `length`, as many as have room for their labels.
std::vector<Tick> fitting_ticks(Canvas& canvas, double end, double length);

constexpr double legend_row = 22;  // height of a row

/// A legend entry. `draw` draws its sample at the given left end, vertically centred.
struct LegendEntry {
  double sample_width = 0;  // 0: only a name
  std::function<void(Canvas&, Point)> draw;
  std::string name;
};

/// Boxes of colours in a row, with a letter in the first.
struct Swatch {
  std::vector<Colour> colours;
  std::string letter = {};
  std::optional<Colour> hatch = {};  // lines over the colours, as for idle time
  std::optional<Colour> outline = {};
  Hatch lines = Hatch::rising;  // of the hatch
};
LegendEntry legend_entry(Swatch swatch, const std::string& name);

/// The marker of the n-th series, on a line unless `line_width` is 0.
LegendEntry series_entry(std::size_t series, double line_width, const std::string& name);

/// The positions of entries in rows up to `width`, below (0, 0). A row holds as many as fit. An
/// entry wider than a row has its own.
std::vector<Point> legend_places(const std::vector<double>& widths, double width);

/// The width of the widest entry.
double legend_width(Canvas& canvas, const std::vector<LegendEntry>& entries);

/// Entries in rows as wide as fit, or in one column.
enum class LegendFlow : std::uint8_t { rows, column };

/// The height of all rows.
double legend_height(Canvas& canvas, double width, const std::vector<LegendEntry>& entries,
                     LegendFlow flow = LegendFlow::rows);

/// Draws all entries. `at` is the left end of the first row, vertically centred.
void draw_legend(Canvas& canvas, Point at, double width, const std::vector<LegendEntry>& entries,
                 LegendFlow flow = LegendFlow::rows);

/// The corners of the n-th marker around a point. Markers of different series have different shapes
/// of about the same area, so they are distinguishable without colour.
std::vector<Point> marker(std::size_t series, Point at, double scale = 1);

}  // namespace penstock
