#include "experiments/pictures/bubble_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/pictures/axis.hpp"
#include "experiments/pictures/markers.hpp"
#include "experiments/pictures/page.hpp"
#include "experiments/pictures/palette.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double narrowest_page = 400;
constexpr double lowest_page = 240;
constexpr double y_label_row = 44;
constexpr double axis_rows = 44;
constexpr double tick_gap = 10;  // between the plot and the numbers at its left
constexpr double air = 18;       // between the outermost points and the sides of the plot
constexpr int most_y_steps = 6;

constexpr double legend_gap = 28;  // between the plot and its legend
constexpr double legend_row = 24;
constexpr double widest_legend = 0.4;  // of the page
constexpr double sample_width = 30;    // of a line in the legend
constexpr double sample_gap = 10;
constexpr const char* closed_form_name = "closed form";

constexpr double joining_width = 3;
constexpr double closed_form_width = 1;
constexpr double halo = 0.75;  // of paper around a marker

using Points = std::vector<std::pair<double, double>>;

/// The range of all points, on the scales of the axes.
struct Extent {
  double low = std::numeric_limits<double>::infinity();  // microbatches
  double high = 0;
  double top = 0;  // percent
};

void check(const std::string& series, double microbatches, double bubble) {
  if (microbatches > 0 && std::isfinite(microbatches) && std::isfinite(bubble)) return;
  throw InputError(
      fmt::format("series \"{}\" has the point ({}, {}); microbatches must be above 0, "
                  "and both numbers finite",
                  series, microbatches, bubble));
}

Extent extent_of(const BubblePlot& plot) {
  Extent extent;
  for (const BubbleSeries& series : plot.series) {
    for (const Points* points : {&series.simulated, &series.closed_form}) {
      for (const auto& [microbatches, bubble] : *points) {
        check(series.name, microbatches, bubble);
        extent.low = std::min(extent.low, microbatches);
        extent.high = std::max(extent.high, microbatches);
        extent.top = std::max(extent.top, 100 * bubble);
      }
    }
  }
  if (extent.high == 0) extent.low = extent.high = 1;
  if (extent.top == 0) extent.top = 100;
  return extent;
}

/// What joins simulated points: pale, so that a closed form shows on it.
Colour joining_colour(std::size_t series) { return mix(series_colour(series), paper, 0.55); }

/// One plot in the making.
class PlotDrawing {
 public:
  explicit PlotDrawing(const BubblePlot& plot) : plot_(plot), extent_(extent_of(plot)) {}
  void draw(Canvas& canvas);

 private:
  void lay_out(Canvas& canvas);
  double legend_width(Canvas& canvas) const;
  void draw_grid(Canvas& canvas) const;
  void draw_lines(Canvas& canvas, std::size_t series) const;
  void draw_markers(Canvas& canvas, std::size_t series) const;
  void draw_legend(Canvas& canvas) const;

  bool any(Points BubbleSeries::*list) const;
  std::vector<Point> places(const Points& points) const;

  const BubblePlot& plot_;
  Extent extent_;
  Scale x_{};        // from the logarithm of microbatches
  Scale y_{};        // from percent
  double left_ = 0;  // the sides of the plot
  double right_ = 0;
  double legend_left_ = 0;
};

void PlotDrawing::draw(Canvas& canvas) {
  lay_out(canvas);
  draw_heading(canvas, plot_.width, plot_.title, plot_.subtitle);
  draw_grid(canvas);
  for (std::size_t s = 0; s < plot_.series.size(); ++s) draw_lines(canvas, s);
  for (std::size_t s = 0; s < plot_.series.size(); ++s) draw_markers(canvas, s);
  draw_legend(canvas);
}

bool PlotDrawing::any(Points BubbleSeries::*list) const {
  return std::any_of(plot_.series.begin(), plot_.series.end(),
                     [list](const BubbleSeries& series) { return !(series.*list).empty(); });
}

double PlotDrawing::legend_width(Canvas& canvas) const {
  double names =
      any(&BubbleSeries::closed_form) ? canvas.text_width(closed_form_name, label_style) : 0;
  for (const BubbleSeries& series : plot_.series) {
    names = std::max(names, canvas.text_width(series.name, label_style));
  }
  return std::min(sample_width + sample_gap + names, widest_legend * plot_.width);
}

void PlotDrawing::lay_out(Canvas& canvas) {
  left_ = page_margin + canvas.text_width("100%", tick_style) + tick_gap;
  right_ = plot_.width - page_margin;
  if (!plot_.series.empty()) {
    legend_left_ = right_ - legend_width(canvas);
    right_ = legend_left_ - legend_gap;
  }
  const double low = std::log2(extent_.low);
  const double high = std::log2(extent_.high);
  // A single column of points stands in the middle.
  x_ = high > low ? Scale{low, high, left_ + air, right_ - air}
                  : Scale{low - 1, low + 1, left_, right_};
  const RoundStep step = round_step(extent_.top, most_y_steps);
  y_ = {0, step.times(std::ceil(extent_.top / step.times(1) * (1 - 1e-9))),
        plot_.height - page_margin - axis_rows,
        heading_bottom(plot_.title, plot_.subtitle) + y_label_row};
}

void PlotDrawing::draw_grid(Canvas& canvas) const {
  for (const Tick& tick : round_ticks(y_.last, most_y_steps)) {
    const double y = y_(tick.at);
    canvas.line({left_, y}, {right_, y}, 1, tick.at == 0 ? axis_line : grid_line);
    canvas.text({left_ - tick_gap, y}, tick.text + "%", aligned(tick_style, Align::right));
  }
  const int most = std::max(1, static_cast<int>((right_ - left_) / 48));
  for (const Tick& tick : power_of_two_ticks(extent_.low, extent_.high, most)) {
    const double x = x_(std::log2(tick.at));
    canvas.line({x, y_.from}, {x, y_.from + 5}, 1, axis_line);
    canvas.text({x, y_.from + 15}, tick.text, aligned(tick_style, Align::centre));
  }
  canvas.text({(left_ + right_) / 2, y_.from + 36}, plot_.x_label,
              aligned(label_style, Align::centre));
  canvas.text_within(plot_.width - 2 * page_margin, {page_margin, y_.to - 20}, plot_.y_label,
                     label_style);
}

std::vector<Point> PlotDrawing::places(const Points& points) const {
  std::vector<Point> all;
  for (const auto& [microbatches, bubble] : points) {
    all.push_back({x_(std::log2(microbatches)), y_(100 * bubble)});
  }
  return all;
}

void PlotDrawing::draw_lines(Canvas& canvas, std::size_t series) const {
  const auto& [name, simulated, closed_form] = plot_.series[series];
  canvas.line(places(simulated), joining_width, joining_colour(series));
  canvas.line(places(closed_form), closed_form_width, series_colour(series));
}

void PlotDrawing::draw_markers(Canvas& canvas, std::size_t series) const {
  for (const Point& point : places(plot_.series[series].simulated)) {
    canvas.polygon(marker(series, point), series_colour(series), halo, paper);
  }
}

void PlotDrawing::draw_legend(Canvas& canvas) const {
  Point at{legend_left_, y_.to};
  const double name_width = plot_.width - page_margin - legend_left_ - sample_width - sample_gap;
  const auto row = [&](Colour colour, double width, const std::string& name) {
    canvas.line({at.x, at.y}, {at.x + sample_width, at.y}, width, colour);
    canvas.text_within(name_width, {at.x + sample_width + sample_gap, at.y}, name, label_style);
  };
  for (std::size_t s = 0; s < plot_.series.size(); ++s) {
    row(joining_colour(s), joining_width, plot_.series[s].name);
    canvas.polygon(marker(s, {at.x + sample_width / 2, at.y}), series_colour(s), halo, paper);
    at.y += legend_row;
  }
  if (!any(&BubbleSeries::closed_form)) return;
  at.y += legend_row / 2;
  row(ink, closed_form_width, closed_form_name);
}

}  // namespace

std::string draw_bubble_plot(PictureFormat format, const BubblePlot& plot) {
  if (!(plot.width >= narrowest_page && plot.height >= lowest_page)) {
    throw UsageError(fmt::format("a plot cannot be {} by {}; it takes at least {} by {}",
                                 plot.width, plot.height, narrowest_page, lowest_page));
  }
  PlotDrawing drawing(plot);
  return render(format, plot.width, plot.height, [&](Canvas& canvas) { drawing.draw(canvas); });
}

}  // namespace penstock
