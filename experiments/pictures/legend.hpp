#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/pictures/canvas.hpp"
#include "experiments/pictures/marks.hpp"

namespace penstock {

constexpr double legend_row = 22;  // from one row to the next

/// What a sample means. `draw` draws the sample, whose left end half-way up is given.
struct LegendEntry {
  double sample_width = 0;  // 0: nothing but the name
  std::function<void(Canvas&, Point)> draw;
  std::string name;
};

/// Boxes of colours, side by side, with a letter in the first of them.
struct Swatch {
  std::vector<Colour> colours;
  std::string letter = {};
  std::optional<Colour> hatch = {};  // the lines over the colours, as idle time has them
  std::optional<Colour> outline = {};
};
LegendEntry legend_entry(Swatch swatch, const std::string& name);

/// The marker of the n-th series, on a line where `line_width` is not 0.
LegendEntry series_entry(std::size_t series, double line_width, const std::string& name);

/// Where entries begin that stand in rows no wider than `width`, below (0, 0); a row holds as many
/// as fit. One that is wider than a row has a row of its own.
std::vector<Point> legend_places(const std::vector<double>& widths, double width);

/// How wide the widest entry is.
double legend_width(Canvas& canvas, const std::vector<LegendEntry>& entries);

/// Side by side as far as they fit, or one below the other.
enum class LegendFlow : std::uint8_t { rows, column };

/// How high all rows are together.
double legend_height(Canvas& canvas, double width, const std::vector<LegendEntry>& entries,
                     LegendFlow flow = LegendFlow::rows);

/// Draws all entries in as many rows as they take. `at` is the left end of the first row, half-way
/// up.
void draw_legend(Canvas& canvas, Point at, double width, const std::vector<LegendEntry>& entries,
                 LegendFlow flow = LegendFlow::rows);

}  // namespace penstock
