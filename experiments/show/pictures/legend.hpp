#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/show/pictures/canvas.hpp"

namespace penstock {

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
