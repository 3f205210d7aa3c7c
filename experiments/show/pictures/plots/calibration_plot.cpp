#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "experiments/input/files/table.hpp"
#include "experiments/show/pictures/axis.hpp"
#include "experiments/show/pictures/page.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "experiments/show/pictures/plots/plots.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double panel_width = 480;
constexpr std::size_t usual_columns = 4;  // of a page whose width is not given, at most
constexpr double narrowest_panel = 280;   // of several next to each other
constexpr double highest_panel = 500;
constexpr double smallest_square = 80;
constexpr double panel_gap = 36;
constexpr double panel_title_row = 26;
constexpr double panel_title_line = 15;  // each further one
constexpr TextStyle panel_title_style{12, ink, Align::left, true};
constexpr double panel_tick_gap = 8;
constexpr double panel_axis_rows = 46;  // below a panel: tick numbers and axis label
constexpr double panel_halo = 0.75;
constexpr double marker_scale = 0.85;

/// The range of the points of a panel, as base-10 logarithms.
struct ValueExtent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
};

void include(double value, const std::string& series, ValueExtent& extent) {
  if (!(value > 0) || !std::isfinite(value)) {
    throw InputError(fmt::format("series \"{}\" has the time {}; times must be above 0, and finite",
                                 series, value));
  }
  extent.low = std::min(extent.low, std::log10(value));
  extent.high = std::max(extent.high, std::log10(value));
}

ValueExtent extent_of(const CalibrationPanel& panel) {
  ValueExtent extent;
  for (const CalibrationSeries& series : panel.series) {
    for (const CalibrationPoint& point : series.points) {
      for (const double value : {point.measured, point.predicted, point.low, point.high}) {
        include(value, series.name, extent);
      }
    }
  }
  if (extent.low > extent.high) return {0, 1};
  const double room = std::max(0.04 * (extent.high - extent.low), 0.05);
  return {extent.low - room, extent.high + room};
}

constexpr int most_panel_ticks = 8;

std::vector<LegendEntry> entries_of(const CalibrationPanel& panel) {
  std::vector<LegendEntry> entries;
  for (std::size_t s = 0; s < panel.series.size(); ++s) {
    const auto& [name, points, within] = panel.series[s];
    entries.push_back(series_entry(
        s, 0, within ? fmt::format("{}, within {}", name, percent_text(*within)) : name));
  }
  return entries;
}

std::vector<std::string> title_lines(const CalibrationPanel& panel, double width, Canvas& canvas) {
  return canvas.wrapped(panel.title, width, panel_title_style);
}

/// Draws one panel: a square with a title above, and an axis and legend below.
class PanelDrawing {
 public:
  PanelDrawing(const CalibrationPlot& plot, const CalibrationPanel& panel, const Rectangle& place,
               double title, double legend, Canvas& canvas)
      : plot_(plot), panel_(panel), extent_(extent_of(panel)), place_(place), canvas_(canvas) {
    left_ = place.x + tick_room();
    const double top = place.y + title;
    const double room = place.y + place.height - legend - panel_axis_rows - top;
    const double side = std::min(room, place.x + place.width - left_);
    x_ = {extent_.low, extent_.high, left_, left_ + side};
    y_ = {extent_.low, extent_.high, top + side, top};
  }

  void draw() const {
    double y = place_.y + 6;
    for (const std::string& line : title_lines(panel_, place_.width, canvas_)) {
      canvas_.text_within(place_.width, {place_.x, y}, line, panel_title_style);
      y += panel_title_line;
    }
    draw_grid();
    draw_bands();
    canvas_.line({x_.from, y_.from}, {x_.to, y_.to}, 1, axis_line);
    for (std::size_t s = 0; s < panel_.series.size(); ++s) draw_intervals(s);
    for (std::size_t s = 0; s < panel_.series.size(); ++s) draw_markers(s);
    draw_legend(canvas_, {place_.x, y_.from + panel_axis_rows + legend_row / 2}, place_.width,
                entries_of(panel_));
  }

 private:
  /// The room for the numbers on the left.
  double tick_room() const {
    const auto ticks = log_ticks(extent_.low, extent_.high, most_panel_ticks);
    return widest_text(canvas_, ticks, tick_style, &Tick::text) + panel_tick_gap;
  }

  std::string with_unit(const std::string& name) const {
    return panel_.unit.empty() ? name : fmt::format("{}, {}", name, panel_.unit);
  }

  void draw_grid() const {
    std::vector<Tick> ticks;
    for (int most = most_panel_ticks; most > 0; --most) {
      ticks = log_ticks(extent_.low, extent_.high, most);
      if (labels_fit(canvas_, ticks, (x_.to - x_.from) / (x_.last - x_.first))) break;
    }
    for (const Tick& tick : ticks) {
      const double x = x_(tick.at), y = y_(tick.at);
      canvas_.line({x_.from, y}, {x_.to, y}, 1, grid_line);
      canvas_.line({x, y_.from}, {x, y_.to}, 1, grid_line);
      canvas_.text({x_.from - panel_tick_gap, y}, tick.text, aligned(tick_style, Align::right));
      canvas_.text({x, y_.from + 13}, tick.text, aligned(tick_style, Align::centre));
    }
    canvas_.line({x_.from, y_.from}, {x_.to, y_.from}, 1, axis_line);
    canvas_.line({x_.from, y_.from}, {x_.from, y_.to}, 1, axis_line);
    canvas_.text({(x_.from + x_.to) / 2, y_.from + 32}, with_unit(plot_.x_name),
                 aligned(label_style, Align::centre));
    canvas_.text({x_.from + 8, y_.to + 10}, with_unit(plot_.y_name), label_style);
  }

  /// The widest first; each narrower one is darker.
  void draw_bands() const {
    double share = 0;
    for (auto band = panel_.bands.rbegin(); band != panel_.bands.rend(); ++band) {
      draw_band(*band, mix(grid_line, axis_line, share));
      share += 0.5 * (1 - share);
    }
  }

  void draw_band(double band, Colour colour) const {
    constexpr double nothing = 1e-9;
    const double low = extent_.low, high = extent_.high;
    const double more = std::min(std::log10(1 + band), high - low);
    const double less = std::max(std::log10(std::max(1 - band, nothing)), low - high);
    const std::array<Point, 4> corners{Point{x_(low), y_(low)}, Point{x_(low), y_(low + more)},
                                       Point{x_(high - more), y_(high)}, Point{x_(high), y_(high)}};
    const std::array<Point, 4> below{Point{x_(low), y_(low)}, Point{x_(low - less), y_(low)},
                                     Point{x_(high), y_(high + less)}, Point{x_(high), y_(high)}};
    canvas_.polygon(corners, colour, 0.5, colour);
    canvas_.polygon(below, colour, 0.5, colour);
  }

  void draw_intervals(std::size_t series) const {
    const Colour pale = mix(series_colour(series), paper, 0.45);
    for (const CalibrationPoint& point : panel_.series[series].points) {
      const double x = x_(std::log10(point.measured));
      canvas_.line({x, y_(std::log10(point.low))}, {x, y_(std::log10(point.high))}, 1.25, pale);
    }
  }

  void draw_markers(std::size_t series) const {
    for (const CalibrationPoint& point : panel_.series[series].points) {
      const Point at{x_(std::log10(point.measured)), y_(std::log10(point.predicted))};
      canvas_.polygon(marker(series, at, marker_scale), series_colour(series), panel_halo, paper);
    }
  }

  const CalibrationPlot& plot_;
  const CalibrationPanel& panel_;
  ValueExtent extent_;
  Rectangle place_;
  Canvas& canvas_;
  Scale x_{};
  Scale y_{};
  double left_ = 0;
};

/// The grid of panels on a page. All have the same size, with room for the longest title and
/// legend.
struct PanelGrid {
  std::size_t columns = 1;
  std::size_t rows = 1;
  double width = 0;
  double height = 0;
  double title = 0;
  double legend = 0;
};

PanelGrid grid_of(const CalibrationPlot& plot, double top, Page& page) {
  PanelGrid grid;
  const std::size_t panels = std::max<std::size_t>(1, plot.panels.size());
  const double inner = inner_width(page);
  grid.columns = std::clamp<std::size_t>(
      static_cast<std::size_t>((inner + panel_gap) / (narrowest_panel + panel_gap)), 1, panels);
  grid.rows = (panels + grid.columns - 1) / grid.columns;
  const auto columns = static_cast<double>(grid.columns), rows = static_cast<double>(grid.rows);
  grid.width = (inner - (columns - 1) * panel_gap) / columns;
  for (const CalibrationPanel& panel : plot.panels) {
    const std::size_t lines = title_lines(panel, grid.width, page.canvas).size();
    const double further = static_cast<double>(std::max<std::size_t>(lines, 1) - 1);
    grid.title = std::max(grid.title, panel_title_row + further * panel_title_line);
    grid.legend = std::max(grid.legend, legend_height(page.canvas, grid.width, entries_of(panel)));
  }
  const double around = grid.title + panel_axis_rows + grid.legend;
  const double gaps = (rows - 1) * panel_gap + margin_of(page);
  if (page.height == 0) {
    page.height = top + gaps + rows * std::min(highest_panel, grid.width + around);
  }
  check_height(page, top + gaps + rows * (smallest_square + around));
  grid.height = (page.height - top - gaps) / rows;
  return grid;
}

}  // namespace

std::string draw_calibration_plot(PictureFormat format, const CalibrationPlot& plot) {
  const auto panels =
      static_cast<double>(std::clamp<std::size_t>(plot.panels.size(), 1, usual_columns));
  Page page =
      open_page(plot.options, 2 * page_margin + panels * panel_width + (panels - 1) * panel_gap);
  const double top =
      draw_heading(page, plot.options.title.value_or(plot.title), plot.subtitle) + 12;
  const PanelGrid grid = grid_of(plot, top, page);
  for (std::size_t i = 0; i < plot.panels.size(); ++i) {
    const auto column = static_cast<double>(i % grid.columns);
    const auto row = static_cast<double>(i / grid.columns);
    const Rectangle place{margin_of(page) + column * (grid.width + panel_gap),
                          top + row * (grid.height + panel_gap), grid.width, grid.height};
    PanelDrawing(plot, plot.panels[i], place, grid.title, grid.legend, page.canvas).draw();
  }
  return render(format, page);
}

}  // namespace penstock
