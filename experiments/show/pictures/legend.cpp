#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "experiments/show/pictures/page.hpp"
#include "experiments/show/pictures/palette.hpp"

namespace penstock {
namespace {

constexpr double swatch_width = 18;
constexpr double widest_swatches = 72;  // of one entry, all swatches
constexpr double swatch_height = 15;
constexpr double line_sample = 30;
constexpr double marker_sample = 12;
constexpr double name_gap = 6;    // between the sample and the name
constexpr double entry_gap = 20;  // between entries
constexpr double entry_row = legend_row;
constexpr double legend_halo = 0.75;
constexpr TextStyle name_style{11, ink};

double colours_width(const Swatch& swatch) {
  return std::min(swatch_width * static_cast<double>(swatch.colours.size()), widest_swatches);
}

void draw_swatch(Canvas& canvas, Point at, const Swatch& swatch) {
  const double step = colours_width(swatch) / static_cast<double>(swatch.colours.size());
  double x = at.x;
  for (const Colour colour : swatch.colours) {
    const Rectangle box{x, at.y - swatch_height / 2, step - 0.5, swatch_height};
    canvas.fill(box, colour);
    if (swatch.hatch) canvas.hatch({&box, 1}, 5, 0.75, *swatch.hatch, swatch.lines);
    if (swatch.outline) canvas.outline({&box, 1}, 1.75, *swatch.outline);
    x += step;
  }
  if (!swatch.letter.empty()) {
    canvas.text({at.x + swatch_width / 2, at.y}, swatch.letter,
                {10.5, text_on(swatch.colours.front()), Align::centre});
  }
}

double name_offset(const LegendEntry& entry) {
  return entry.sample_width == 0 ? 0 : entry.sample_width + name_gap;
}

std::vector<double> widths_of(Canvas& canvas, const std::vector<LegendEntry>& entries) {
  std::vector<double> widths;
  for (const LegendEntry& entry : entries) {
    widths.push_back(name_offset(entry) + canvas.text_width(entry.name, name_style));
  }
  return widths;
}

std::vector<Point> places_of(Canvas& canvas, double width, const std::vector<LegendEntry>& entries,
                             LegendFlow flow) {
  // With width 0 each entry has its own row.
  return legend_places(widths_of(canvas, entries), flow == LegendFlow::rows ? width : 0);
}

}  // namespace

LegendEntry legend_entry(Swatch swatch, const std::string& name) {
  const double width = colours_width(swatch);
  return {
      width,
      [swatch = std::move(swatch)](Canvas& canvas, Point at) { draw_swatch(canvas, at, swatch); },
      name};
}

LegendEntry series_entry(std::size_t series, double line_width, const std::string& name) {
  const double width = line_width > 0 ? line_sample : marker_sample;
  const auto draw = [=](Canvas& canvas, Point at) {
    if (line_width > 0) {
      canvas.line(at, {at.x + width, at.y}, line_width, joining_colour(series));
    }
    canvas.polygon(marker(series, {at.x + width / 2, at.y}), series_colour(series), legend_halo,
                   paper);
  };
  return {width, draw, name};
}

std::vector<Point> legend_places(const std::vector<double>& widths, double width) {
  std::vector<Point> places;
  Point at{0, 0};
  for (const double entry : widths) {
    if (at.x > 0 && at.x + entry > width) at = {0, at.y + entry_row};
    places.push_back(at);
    at.x += entry + entry_gap;
  }
  return places;
}

double legend_width(Canvas& canvas, const std::vector<LegendEntry>& entries) {
  double widest = 0;
  for (const double width : widths_of(canvas, entries)) widest = std::max(widest, width);
  return widest;
}

double legend_height(Canvas& canvas, double width, const std::vector<LegendEntry>& entries,
                     LegendFlow flow) {
  return entries.empty() ? 0 : places_of(canvas, width, entries, flow).back().y + entry_row;
}

void draw_legend(Canvas& canvas, Point at, double width, const std::vector<LegendEntry>& entries,
                 LegendFlow flow) {
  const std::vector<Point> places = places_of(canvas, width, entries, flow);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Point place{at.x + places[i].x, at.y + places[i].y};
    const double offset = name_offset(entries[i]);
    if (entries[i].draw) entries[i].draw(canvas, place);
    canvas.text_within(width - offset, {place.x + offset, place.y}, entries[i].name, name_style);
  }
}

std::vector<Point> marker(std::size_t series, Point at, double scale) {
  struct Shape {
    int corners;
    double turn;  // of the first corner from the vertical, as a fraction of a circle
    double radius;
  };
  constexpr std::array<Shape, 6> shapes{
      {{32, 0, 4.4}, {4, 0.125, 5.4}, {3, 0, 6.2}, {4, 0, 5.8}, {3, 0.5, 6.2}, {5, 0, 5.2}}};
  const auto& [corners, turn, radius] = shapes[series % shapes.size()];
  std::vector<Point> points;
  for (int corner = 0; corner < corners; ++corner) {
    const double angle = 2 * std::numbers::pi * (turn + static_cast<double>(corner) / corners);
    points.push_back(
        {at.x + scale * radius * std::sin(angle), at.y - scale * radius * std::cos(angle)});
  }
  return points;
}

}  // namespace penstock
