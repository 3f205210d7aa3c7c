#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "experiments/show/pictures/axis.hpp"
#include "experiments/show/pictures/page.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "experiments/show/pictures/plots/plots.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double bubble_width = 900;
constexpr double bubble_height = 560;
constexpr double lowest_grid = 60;
constexpr double y_label_row = 44;
constexpr double axis_rows = 44;
constexpr double tick_gap = 10;  // between the plot and the numbers to its left
constexpr double air = 18;       // between the outermost points and the plot edges
constexpr double y_step_height = 40;
constexpr int most_y_steps = 6;

constexpr double narrowest_beside = 640;  // of a page with the legend next to the plot
constexpr double legend_gap = 28;         // between the plot and its legend
constexpr double widest_legend = 0.4;     // fraction of the page
constexpr double line_sample_width = 30;

constexpr double joining_width = 3;  // of the line through simulated points
constexpr double closed_form_width = 1;
constexpr double dash_length = 7;  // of lines that share their place
constexpr double halo = 0.75;      // of background around a marker
constexpr double marker_width = 9;

using Points = std::vector<std::pair<double, double>>;

/// The range of all points, in axis scales.
struct Extent {
  double low = std::numeric_limits<double>::infinity();  // microbatches
  double high = 0;
  double top = 0;                       // percent, or the unit of y
  bool whole_x = true, whole_y = true;  // no point has a fraction

  int x_steps(int most) const { return steps(most, high, whole_x); }
  int y_steps(int most) const { return steps(most, top, whole_y); }

 private:
  /// Steps of at least 1 where all numbers are whole.
  static int steps(int most, double end, bool whole) {
    return whole && end < most ? std::max(1, static_cast<int>(end)) : most;
  }
};

/// "2e9" for a large number; a smaller one stays as it is.
std::string power_text(double value, const std::string& text) {
  constexpr double longest = 999'999;
  if (value <= longest) return text;
  const int power = static_cast<int>(std::floor(std::log10(value) + 1e-9));
  return fmt::format("{:.6g}e{}", value / std::pow(10, power), power);
}

double y_factor(const BubblePlot& plot) { return plot.percent ? 100 : 1; }

void check(const std::string& series, double microbatches, double bubble, bool logarithmic) {
  const bool is_place = logarithmic ? microbatches > 0 : microbatches >= 0;
  if (is_place && std::isfinite(microbatches) && std::isfinite(bubble)) return;
  throw InputError(
      fmt::format("series \"{}\" has the point ({}, {}); microbatches must be above 0, "
                  "and both numbers finite",
                  series, microbatches, bubble));
}

Extent extent_of(const std::vector<BubbleSeries>& all, const BubblePlot& plot) {
  Extent extent;
  for (const BubbleSeries& series : all) {
    for (const Points* points : {&series.simulated, &series.closed_form}) {
      for (const auto& [microbatches, bubble] : *points) {
        check(series.name, microbatches, bubble, plot.logarithmic);
        extent.low = std::min(extent.low, microbatches);
        const double y = y_factor(plot) * bubble;
        extent.high = std::max(extent.high, microbatches);
        extent.top = std::max(extent.top, y);
        extent.whole_x = extent.whole_x && microbatches == std::floor(microbatches);
        extent.whole_y = extent.whole_y && y == std::floor(y);
      }
    }
  }
  if (extent.high == 0) extent.low = extent.high = 1;
  if (extent.top == 0) extent.top = 100;
  return extent;
}

/// Whether two bubbles at one number of microbatches are drawn at one place.
bool same_place(const std::pair<double, double>& a, const std::pair<double, double>& b) {
  constexpr double rounding = 1e-9;
  return a.first == b.first && std::abs(a.second - b.second) < rounding;
}

/// Series with identical points would hide each other, so they share a line and a legend entry.
/// Those without any have none.
std::vector<BubbleSeries> lines_of(const std::vector<BubbleSeries>& all) {
  const bool lists = std::ranges::any_of(
      all, [](const BubbleSeries& one) { return one.name.find(", ") != std::string::npos; });
  std::vector<BubbleSeries> lines;
  for (const BubbleSeries& series : all) {
    if (series.simulated.empty() && series.closed_form.empty()) continue;
    const auto same = std::find_if(lines.begin(), lines.end(), [&](const BubbleSeries& line) {
      return !line.simulated.empty() &&
             std::ranges::equal(line.simulated, series.simulated, same_place);
    });
    if (same == lines.end()) {
      lines.push_back(series);
    } else {
      same->name += (lists ? "; " : ", ") + series.name;
      if (same->closed_form.empty()) same->closed_form = series.closed_form;
    }
  }
  return lines;
}

int y_steps(double height) {
  return std::clamp(static_cast<int>(height / y_step_height), 1, most_y_steps);
}

/// Draws one plot.
class PlotDrawing {
 public:
  PlotDrawing(const BubblePlot& plot, Page& page)
      : plot_(plot), lines_(lines_of(plot.series)), extent_(extent_of(lines_, plot)), page_(page) {}

  void draw() {
    lay_out(draw_heading(page_, plot_.options.title.value_or(plot_.title), plot_.subtitle));
    draw_grid();
    for (std::size_t s = 0; s < lines_.size(); ++s) draw_lines(s);
    draw_markers();
    draw_legend(page_.canvas, {legend_at_.x, legend_at_.y + legend_row / 2}, legend_width_,
                legend(), legend_flow_);
  }

 private:
  /// The legend goes next to the plot if the page is wide and high enough, otherwise below.
  void lay_out(double top) {
    const std::vector<LegendEntry> entries = legend();
    left_ = margin_of(page_) + widest_y_tick() + tick_gap;
    right_ = page_.width - margin_of(page_);
    const double grid_top = top + y_label_row;
    legend_width_ = std::min(legend_width(page_.canvas, entries), widest_legend * page_.width);
    double height = legend_height(page_.canvas, legend_width_, entries, LegendFlow::column);
    const double usual =
        page_.height > 0 ? page_.height : std::min(bubble_height, 0.7 * page_.width);
    const double foot = margin_of(page_) + axis_rows;
    const bool beside = page_.width >= narrowest_beside && grid_top + height + foot <= usual;
    legend_flow_ = beside ? LegendFlow::column : LegendFlow::rows;
    if (!beside) {
      legend_width_ = inner_width(page_);
      height = legend_height(page_.canvas, legend_width_, entries);
    }
    const double below = beside ? 0 : height;
    if (page_.height == 0) page_.height = std::max(usual, grid_top + foot + 120) + below;
    check_height(page_, grid_top + lowest_grid + foot + below);
    const double bottom = page_.height - foot - below;
    if (beside && !entries.empty()) right_ -= legend_width_ + legend_gap;
    legend_at_ = beside ? Point{right_ + legend_gap, grid_top - legend_row / 2}
                        : Point{margin_of(page_), bottom + axis_rows + margin_of(page_) / 2};
    const double low = plot_.logarithmic ? x_of(extent_.low) : 0;
    const double high = x_of(extent_.high);
    // A single column of points is centred.
    x_ = high > low ? Scale{low, high, left_ + air, right_ - air}
                    : Scale{low - 1, low + 1, left_, right_};
    const RoundStep step = round_step(extent_.top, extent_.y_steps(y_steps(bottom - grid_top)));
    y_ = {0, step.times(std::ceil(extent_.top / step.times(1) * (1 - 1e-9))), bottom, grid_top};
  }

  std::vector<LegendEntry> legend() const {
    std::vector<LegendEntry> entries;
    for (std::size_t s = 0; s < lines_.size(); ++s) {
      entries.push_back(series_entry(s, joining_width, lines_[s].name));
    }
    if (any(&BubbleSeries::closed_form)) {
      entries.push_back(
          {line_sample_width,
           [](Canvas& canvas, Point at) {
             canvas.line(at, {at.x + line_sample_width, at.y}, closed_form_width, ink);
           },
           plot_.thin_name});
    }
    return entries;
  }

  void draw_grid() const {
    Canvas& canvas = page_.canvas;
    for (const Tick& tick : round_ticks(y_.last, extent_.y_steps(y_steps(y_.from - y_.to)))) {
      const double y = y_(tick.at);
      canvas.line({left_, y}, {right_, y}, 1, tick.at == 0 ? axis_line : grid_line);
      canvas.text({left_ - tick_gap, y}, tick.text + y_unit(), aligned(tick_style, Align::right));
    }
    const double widest = canvas.text_width(fmt::format("{:.6g}", extent_.high), tick_style) + 12;
    const int most = std::max(1, static_cast<int>((right_ - left_) / widest));
    for (const Tick& tick : x_ticks(most)) {
      const double x = x_(x_of(tick.at));
      canvas.line({x, y_.from}, {x, y_.from + 5}, 1, axis_line);
      canvas.text({x, y_.from + 15}, tick.text, aligned(tick_style, Align::centre));
    }
    canvas.text_within(inner_width(page_), {(left_ + right_) / 2, y_.from + 36}, plot_.x_label,
                       aligned(label_style, Align::centre));
    canvas.text_within(inner_width(page_), {margin_of(page_), y_.to - 20}, plot_.y_label,
                       label_style);
  }

  void draw_lines(std::size_t series) const {
    const Points& points = lines_[series].simulated;
    for (std::size_t i = 0; i + 1 < points.size(); ++i) draw_segment(series, i);
    page_.canvas.line(places(lines_[series].closed_form), closed_form_width, series_colour(series));
  }

  /// Markers at one place are nested, the first one largest.
  void draw_markers() const {
    constexpr double most_growth = 0.5;  // from one marker to the next
    constexpr double most_in_all = 1.5;
    for (std::size_t s = 0; s < lines_.size(); ++s) {
      for (const auto& point : marked(lines_[s].simulated)) {
        const auto others = static_cast<double>(markers_at(point, 0, lines_.size()) - 1);
        const auto above = static_cast<double>(markers_at(point, s + 1, lines_.size()));
        const double growth = std::min(most_growth, most_in_all / std::max(others, 1.0));
        page_.canvas.polygon(marker(s, place(point), 1 + growth * above), series_colour(s), halo,
                             paper);
      }
    }
  }

  /// The points that have a marker: where it would cover the one before, only the last point.
  Points marked(const Points& points) const {
    Points all;
    double covered = -std::numeric_limits<double>::infinity();
    for (const auto& point : points) {
      const double x = place(point).x;
      if (x < covered && point != points.back()) continue;
      all.push_back(point);
      covered = x + marker_width;
    }
    return all;
  }

  double x_of(double value) const { return plot_.logarithmic ? std::log2(value) : value; }
  const char* y_unit() const { return plot_.percent ? "%" : ""; }

  /// The width of the longest number along y, for any number of steps.
  double widest_y_tick() const {
    const double least = plot_.percent ? page_.canvas.text_width("100%", tick_style) : 0;
    return std::max(
        least, widest_text(page_.canvas, round_ticks(extent_.top, extent_.y_steps(most_y_steps)),
                           tick_style, [&](const Tick& tick) { return tick.text + y_unit(); }));
  }

  /// Powers of two for counts, of ten for wider ranges.
  std::vector<Tick> x_ticks(int most) const {
    constexpr double most_count = 65'536;
    if (!plot_.logarithmic) return round_ticks(extent_.high, extent_.x_steps(most));
    if (extent_.low >= 1 && extent_.high <= most_count) {
      return power_of_two_ticks(extent_.low, extent_.high, most);
    }
    std::vector<Tick> ticks = log_ticks(std::log10(extent_.low), std::log10(extent_.high), most);
    for (Tick& tick : ticks) {
      tick.at = std::pow(10, tick.at);
      tick.text = power_text(tick.at, tick.text);
    }
    return ticks;
  }

  bool any(Points BubbleSeries::*list) const {
    return std::any_of(lines_.begin(), lines_.end(),
                       [list](const BubbleSeries& series) { return !(series.*list).empty(); });
  }

  std::vector<Point> places(const Points& points) const {
    std::vector<Point> all;
    for (const auto& point : points) all.push_back(place(point));
    return all;
  }

  Point place(const std::pair<double, double>& point) const {
    return {x_(x_of(point.first)), y_(y_factor(plot_) * point.second)};
  }

  /// Whether a series also has the line from point `from` of `of` to the next.
  bool has_segment(std::size_t series, const Points& of, std::size_t from) const {
    const Points& own = lines_[series].simulated;
    for (std::size_t i = 0; i + 1 < own.size(); ++i) {
      if (same_place(own[i], of[from]) && same_place(own[i + 1], of[from + 1])) return true;
    }
    return false;
  }

  /// Draws the line to the next point. Series that share it take turns along it.
  void draw_segment(std::size_t series, std::size_t from) const {
    const Points& points = lines_[series].simulated;
    std::size_t sharing = 0, before = 0;
    for (std::size_t s = 0; s < lines_.size(); ++s) {
      if (!has_segment(s, points, from)) continue;
      ++sharing;
      if (s < series) ++before;
    }
    const Point begin = place(points[from]), end = place(points[from + 1]);
    const double length = std::hypot(end.x - begin.x, end.y - begin.y);
    const auto at = [&](double along) -> Point {
      const double share = std::min(along / length, 1.0);
      return {begin.x + share * (end.x - begin.x), begin.y + share * (end.y - begin.y)};
    };
    const double dash = sharing > 1 ? dash_length : length;
    const double period = dash * static_cast<double>(std::max<std::size_t>(sharing, 1));
    for (double along = dash * static_cast<double>(before); along < length; along += period) {
      page_.canvas.line(at(along), at(along + dash), joining_width, joining_colour(series));
    }
  }

  /// How many series from `first` to `end` have a marker at a place.
  std::size_t markers_at(const std::pair<double, double>& place, std::size_t first,
                         std::size_t end) const {
    std::size_t count = 0;
    for (std::size_t s = first; s < end; ++s) {
      const Points& points = lines_[s].simulated;
      count += std::any_of(points.begin(), points.end(),
                           [&](const auto& point) { return same_place(point, place); });
    }
    return count;
  }

  const BubblePlot& plot_;
  std::vector<BubbleSeries> lines_;
  Extent extent_;
  Page& page_;
  Scale x_{};        // from the logarithm of microbatches
  Scale y_{};        // from percent
  double left_ = 0;  // edges of the plot
  double right_ = 0;
  Point legend_at_{};  // upper left corner of the legend
  double legend_width_ = 0;
  LegendFlow legend_flow_ = LegendFlow::rows;
};

}  // namespace

std::string draw_bubble_plot(PictureFormat format, const BubblePlot& plot) {
  Page page = open_page(plot.options, bubble_width);
  PlotDrawing(plot, page).draw();
  return render(format, page);
}

}  // namespace penstock
