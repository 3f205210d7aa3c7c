#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/show/pictures/axis.hpp"
#include "experiments/show/pictures/page.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "experiments/show/pictures/plots/plots.hpp"

namespace penstock {
namespace {

constexpr double front_width = 760;
constexpr double front_height = 480;
constexpr double front_foot = 96;  // axis and legend
constexpr double front_head = 30;  // label of y
constexpr double front_aspect = 0.6;
constexpr double front_left = 64;
constexpr double front_joint = 2;
constexpr double front_halo = 0.75;
constexpr double hollow_line = 1.25;
constexpr double hollow_sample = 12;
constexpr std::size_t plain_series = 2;
constexpr double plain_scale = 1.5;

/// Markers of one kind, by cells as large as one.
class Crowd {
 public:
  void add(Point at) { ++cells_[cell_of(at)]; }
  /// Whether more points lie around a place than halos would leave visible.
  bool is_around(Point at) const {
    constexpr std::size_t most = 8;
    const auto [x, y] = cell_of(at);
    std::size_t near = 0;
    for (const long column : {x - 1, x, x + 1}) {
      for (const long row : {y - 1, y, y + 1}) {
        const auto found = cells_.find({column, row});
        near += found == cells_.end() ? 0 : found->second;
      }
    }
    return near > most;
  }

 private:
  using Cell = std::pair<long, long>;
  static Cell cell_of(Point at) {
    constexpr double size = 9;
    return {std::lround(at.x / size), std::lround(at.y / size)};
  }

  std::map<Cell, std::size_t> cells_;
};

void draw_front_point(const FrontPoint& point, Point at, double around, Canvas& canvas) {
  const std::size_t series = point.on_front ? 1 : 0;
  const Colour colour = series_colour(series);
  if (point.finding.empty()) {
    canvas.polygon(marker(series, at), colour, around, paper);
  } else {
    canvas.polygon(marker(series, at), paper, hollow_line, colour);
  }
}

/// Axes of a front plot, both from 0.
struct FrontAxes {
  Scale x;
  Scale y;
};

FrontAxes front_axes(const FrontPlot& plot, Page& page, double top) {
  if (page.height == 0) {
    page.height = std::min(front_height, top + front_head + front_aspect * page.width + front_foot);
  }
  check_height(page, top + front_foot + 80);
  double seconds = 0, gibibytes = 0;
  std::vector<FrontPoint> points = plot.points;
  if (plot.plain) points.push_back(*plot.plain);
  for (const FrontPoint& point : points) {
    seconds = std::max(seconds, point.seconds);
    gibibytes = std::max(gibibytes, point.gibibytes);
  }
  gibibytes = std::max(gibibytes, plot.capacity.value_or(0));
  const double left = margin_of(page) + front_left;
  return {{0, std::max(seconds, 1e-9) * 1.05, left, page.width - margin_of(page)},
          {0, std::max(gibibytes, 1e-9) * 1.05, page.height - front_foot, top + front_head}};
}

void draw_front_axes(const FrontAxes& axes, Page& page) {
  Canvas& canvas = page.canvas;
  for (const Tick& tick : round_ticks(axes.y.last, 6)) {
    const double y = axes.y(tick.at);
    canvas.line({axes.x.from, y}, {axes.x.to, y}, 1, tick.at == 0 ? axis_line : grid_line);
    canvas.text({axes.x.from - 10, y}, tick.text, aligned(tick_style, Align::right));
  }
  for (const Tick& tick : fitting_ticks(canvas, axes.x.last, axes.x.to - axes.x.from)) {
    canvas.text({axes.x(tick.at), axes.y.from + 15}, tick.text, aligned(tick_style, Align::centre));
  }
  canvas.text({margin_of(page), axes.y.to - 16}, "memory of the fullest rank, GiB", label_style);
  canvas.text({(axes.x.from + axes.x.to) / 2, axes.y.from + 36}, "step time, s",
              aligned(label_style, Align::centre));
}

void draw_front_points(const FrontPlot& plot, const FrontAxes& axes, Page& page) {
  std::vector<Point> front;
  for (const FrontPoint& point : plot.points) {
    if (point.on_front) front.push_back({axes.x(point.seconds), axes.y(point.gibibytes)});
  }
  page.canvas.line(front, front_joint, joining_colour(1));
  // Those that cannot be used hide none, and the front lies above the others.
  const auto layer_of = [](const FrontPoint& point) {
    return point.on_front ? 2 : point.finding.empty() ? 1 : 0;
  };
  for (const int layer : {0, 1, 2}) {
    std::vector<std::pair<const FrontPoint*, Point>> points;
    Crowd crowd;
    for (const FrontPoint& point : plot.points) {
      if (layer_of(point) != layer) continue;
      points.emplace_back(&point, Point{axes.x(point.seconds), axes.y(point.gibibytes)});
      crowd.add(points.back().second);
    }
    for (const auto& [point, at] : points) {
      draw_front_point(*point, at, crowd.is_around(at) ? 0 : front_halo, page.canvas);
    }
  }
  if (!plot.plain) return;
  const Point at{axes.x(plot.plain->seconds), axes.y(plot.plain->gibibytes)};
  page.canvas.polygon(marker(plain_series, at, plain_scale), series_colour(plain_series),
                      front_halo, paper);
}

void draw_capacity(double capacity, const FrontAxes& axes, Page& page) {
  const double y = axes.y(capacity);
  page.canvas.line({axes.x.from, y}, {axes.x.to, y}, 1, axis_line);
  page.canvas.text({axes.x.to, y - 10}, "memory of a device", aligned(label_style, Align::right));
}

}  // namespace

std::string draw_front_plot(PictureFormat format, const FrontPlot& plot) {
  Page page = open_page(plot.options, front_width);
  const double top = draw_heading(page, plot.options.title.value_or(plot.title), "");
  const FrontAxes axes = front_axes(plot, page, top);
  draw_front_axes(axes, page);
  if (plot.capacity) draw_capacity(*plot.capacity, axes, page);
  draw_front_points(plot, axes, page);
  std::vector<LegendEntry> legend{series_entry(1, front_joint, "Pareto front"),
                                  series_entry(0, 0, plot.others)};
  if (std::ranges::any_of(plot.points, [](const auto& point) { return !point.finding.empty(); })) {
    const auto draw = [](Canvas& canvas, Point at) {
      draw_front_point({.finding = "any"}, {at.x + hollow_sample / 2, at.y}, front_halo, canvas);
    };
    legend.push_back({hollow_sample, draw, "found a problem, such as out of memory"});
  }
  if (plot.plain) {
    legend.push_back(series_entry(plain_series, 0, "fastest 1F1B, ZeRO-0 or -1, no recomputation"));
  }
  draw_legend(page.canvas, {margin_of(page), page.height - 30}, inner_width(page), legend);
  return render(format, page);
}

}  // namespace penstock
