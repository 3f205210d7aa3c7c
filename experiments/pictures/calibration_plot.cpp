#include "experiments/pictures/calibration_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "experiments/pictures/axis.hpp"
#include "experiments/pictures/markers.hpp"
#include "experiments/pictures/page.hpp"
#include "experiments/pictures/palette.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double narrowest_panel = 300;
constexpr double panel_lowest_page = 360;
constexpr double band = 0.05;  // to both sides of the diagonal
constexpr double panel_gap = 36;
constexpr double panel_title_row = 26;
constexpr double panel_tick_gap = 8;
constexpr double panel_axis_rows = 46;  // below a panel: numbers and the label
constexpr double panel_legend_row = 20;
constexpr double panel_halo = 0.75;
constexpr double marker_scale = 0.85;

/// Where the points of a panel lie, in logarithms to base 10.
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

/// 1, 2 and 5 times powers of ten, or where these are too many, powers of ten.
std::vector<Tick> ticks_of(const ValueExtent& extent) {
  const bool few = extent.high - extent.low > 2.2;
  std::vector<Tick> ticks;
  for (int power = static_cast<int>(std::floor(extent.low)); power <= extent.high; ++power) {
    for (const int mantissa : {1, 2, 5}) {
      if (few && mantissa != 1) continue;
      const RoundStep step{mantissa, power};
      const double at = std::log10(step.times(1));
      if (at >= extent.low && at <= extent.high) ticks.push_back({at, step.text(1)});
    }
  }
  return ticks;
}

/// One panel in the making: a square below a title, its legend below its axis.
class PanelDrawing {
 public:
  PanelDrawing(const CalibrationPanel& panel, const Rectangle& place, double legend_height)
      : panel_(panel), extent_(extent_of(panel)), place_(place) {
    left_ = place.x + 44;
    const double top = place.y + panel_title_row;
    const double room = place.y + place.height - legend_height - panel_axis_rows - top;
    const double side = std::min(room, place.x + place.width - left_);
    x_ = {extent_.low, extent_.high, left_, left_ + side};
    y_ = {extent_.low, extent_.high, top + side, top};
  }

  void draw(Canvas& canvas) const {
    canvas.text_within(place_.width, {place_.x, place_.y + 6}, panel_.title,
                       {12, ink, Align::left, true});
    draw_grid(canvas);
    draw_diagonal(canvas);
    for (std::size_t s = 0; s < panel_.series.size(); ++s) draw_intervals(canvas, s);
    for (std::size_t s = 0; s < panel_.series.size(); ++s) draw_markers(canvas, s);
    draw_legend(canvas);
  }

 private:
  void draw_grid(Canvas& canvas) const;
  void draw_diagonal(Canvas& canvas) const;
  void draw_intervals(Canvas& canvas, std::size_t series) const;
  void draw_markers(Canvas& canvas, std::size_t series) const;
  void draw_legend(Canvas& canvas) const;

  const CalibrationPanel& panel_;
  ValueExtent extent_;
  Rectangle place_;
  Scale x_{};
  Scale y_{};
  double left_ = 0;
};

void PanelDrawing::draw_grid(Canvas& canvas) const {
  for (const Tick& tick : ticks_of(extent_)) {
    const double x = x_(tick.at), y = y_(tick.at);
    canvas.line({x_.from, y}, {x_.to, y}, 1, grid_line);
    canvas.line({x, y_.from}, {x, y_.to}, 1, grid_line);
    canvas.text({x_.from - panel_tick_gap, y}, tick.text, aligned(tick_style, Align::right));
    canvas.text({x, y_.from + 13}, tick.text, aligned(tick_style, Align::centre));
  }
  canvas.line({x_.from, y_.from}, {x_.to, y_.from}, 1, axis_line);
  canvas.line({x_.from, y_.from}, {x_.from, y_.to}, 1, axis_line);
  canvas.text({(x_.from + x_.to) / 2, y_.from + 32}, fmt::format("measured, {}", panel_.unit),
              aligned(label_style, Align::centre));
  canvas.text({x_.from + 8, y_.to + 10}, fmt::format("predicted, {}", panel_.unit), label_style);
}

/// The diagonal, and how far 5 % more or less are from it.
void PanelDrawing::draw_diagonal(Canvas& canvas) const {
  const double more = std::log10(1 + band), less = std::log10(1 - band);
  const double low = extent_.low, high = extent_.high;
  const std::array<Point, 4> corners{Point{x_(low), y_(low)}, Point{x_(low), y_(low + more)},
                                     Point{x_(high - more), y_(high)}, Point{x_(high), y_(high)}};
  const std::array<Point, 4> below{Point{x_(low), y_(low)}, Point{x_(low - less), y_(low)},
                                   Point{x_(high), y_(high + less)}, Point{x_(high), y_(high)}};
  canvas.polygon(corners, grid_line, 0.5, grid_line);
  canvas.polygon(below, grid_line, 0.5, grid_line);
  canvas.line({x_(low), y_(low)}, {x_(high), y_(high)}, 1, axis_line);
}

void PanelDrawing::draw_intervals(Canvas& canvas, std::size_t series) const {
  const Colour pale = mix(series_colour(series), paper, 0.45);
  for (const CalibrationPoint& point : panel_.series[series].points) {
    const double x = x_(std::log10(point.measured));
    canvas.line({x, y_(std::log10(point.low))}, {x, y_(std::log10(point.high))}, 1.25, pale);
  }
}

void PanelDrawing::draw_markers(Canvas& canvas, std::size_t series) const {
  for (const CalibrationPoint& point : panel_.series[series].points) {
    const Point at{x_(std::log10(point.measured)), y_(std::log10(point.predicted))};
    canvas.polygon(marker(series, at, marker_scale), series_colour(series), panel_halo, paper);
  }
}

/// Two entries a row.
void PanelDrawing::draw_legend(Canvas& canvas) const {
  const double top = y_.from + panel_axis_rows + panel_legend_row / 2;
  const double column = (place_.x + place_.width - left_) / 2;
  for (std::size_t s = 0; s < panel_.series.size(); ++s) {
    const Point at{left_ + column * static_cast<double>(s % 2),
                   top + panel_legend_row * static_cast<double>(s / 2)};
    canvas.polygon(marker(s, {at.x + 6, at.y}), series_colour(s), panel_halo, paper);
    canvas.text_within(column - 22, {at.x + 18, at.y}, panel_.series[s].name, label_style);
  }
}

/// Room for the longest legend, so that all panels are equally large.
double legend_height(const CalibrationPlot& plot) {
  std::size_t most = 0;
  for (const CalibrationPanel& panel : plot.panels) most = std::max(most, panel.series.size());
  return panel_legend_row * static_cast<double>((most + 1) / 2);
}

}  // namespace

std::string draw_calibration_plot(PictureFormat format, const CalibrationPlot& plot) {
  if (!(plot.panel_width >= narrowest_panel && plot.height >= panel_lowest_page)) {
    throw UsageError(fmt::format("a panel cannot be {} by {}; it takes at least {} by {}",
                                 plot.panel_width, plot.height, narrowest_panel,
                                 panel_lowest_page));
  }
  const auto panels = static_cast<double>(std::max<std::size_t>(1, plot.panels.size()));
  const double width = 2 * page_margin + panels * plot.panel_width + (panels - 1) * panel_gap;
  const double top = heading_bottom(plot.title, plot.subtitle) + 12;
  std::vector<PanelDrawing> drawings;
  for (std::size_t i = 0; i < plot.panels.size(); ++i) {
    const double left = page_margin + static_cast<double>(i) * (plot.panel_width + panel_gap);
    drawings.emplace_back(plot.panels[i],
                          Rectangle{left, top, plot.panel_width, plot.height - page_margin - top},
                          legend_height(plot));
  }
  return render(format, width, plot.height, [&](Canvas& canvas) {
    draw_heading(canvas, width, plot.title, plot.subtitle);
    for (const PanelDrawing& drawing : drawings) drawing.draw(canvas);
  });
}

}  // namespace penstock
