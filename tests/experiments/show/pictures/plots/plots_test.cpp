#include "experiments/show/pictures/plots/plots.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "experiments/show/pictures/axis.hpp"
#include "experiments/show/pictures/picture.hpp"
#include "sim/base/error.hpp"
#include "tests/support/pictures.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

std::size_t count_of(const std::string& svg, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1)) {
    ++count;
  }
  return count;
}

/// A map as wide as a column of a paper, with one row.
std::string narrow_map(const std::vector<std::string>& columns, const std::vector<double>& values) {
  HeatMap map{.title = "step time",
              .x_label = "name",
              .y_label = "mode",
              .value_label = "ms",
              .columns = columns,
              .rows = {"none"},
              .cells = {{values.begin(), values.end()}}};
  map.options.width = 321;
  return draw_heat_map(PictureFormat::svg, map);
}

const std::vector<std::string> schedules{"1f1b",  "zb-h2",     "eager-1f1b",
                                         "gpipe", "dualpipev", "interleaved-1f1b"};

}  // namespace

TEST_CASE("a bubble plot shows its labels, ticks and the names of its series") {
  BubblePlot plot{"title", "", "microbatches", "bubble", {}};
  plot.series = {{"1f1b", {{4, 0.4}, {8, 0.2}}, {{4, 0.4}, {8, 0.2}}}, {"gpipe", {{2, 0.6}}, {}}};
  const std::string svg = draw_bubble_plot(PictureFormat::svg, plot);
  for (const char* text : {"title", "microbatches", "bubble", "1f1b", "gpipe", "closed form", "2",
                           "4", "8", "0%", "60%"}) {
    CAPTURE(text);
    CHECK(has_text(svg, text));
  }
  CHECK(draw_bubble_plot(PictureFormat::svg, plot) == svg);
  plot.series[1].simulated[0].second = 0.5;
  CHECK(draw_bubble_plot(PictureFormat::svg, plot) != svg);
}

TEST_CASE("series with equal points share a line and its entry") {
  BubblePlot plot{"", "", "", "", {}};
  plot.series = {{"a", {{4, 0.4}}, {}}, {"b", {{4, 0.2}}, {}}, {"c", {{4, 0.4}}, {}}};
  const std::string svg = draw_bubble_plot(PictureFormat::svg, plot);
  CHECK(has_text(svg, "a, c"));
  CHECK_FALSE(has_text(svg, "c"));
}

TEST_CASE(
    "merged names that have commas are joined by semicolons; a series without points has no "
    "entry") {
  BubblePlot plot{"", "", "", "", {}};
  plot.series = {{"a, true", {{4, 0.4}}, {}}, {"a, false", {{4, 0.4}}, {}}, {"b", {}, {}}};
  const std::string svg = draw_bubble_plot(PictureFormat::svg, plot);
  CHECK(has_text(svg, "a, true; a, false"));
  CHECK_FALSE(has_text(svg, "b"));
}

TEST_CASE("where points are closer than a marker is wide, only some have one") {
  const auto markers = [](int points) {
    BubblePlot plot{"", "", "", "", {}};
    plot.logarithmic = false;
    plot.series = {{"a", {}, {}}};
    for (int x = 1; x <= points; ++x) plot.series[0].simulated.emplace_back(x, 0.1 + x % 2 * 0.5);
    const std::string svg = draw_bubble_plot(PictureFormat::svg, plot);
    return count_of(svg, "paint-order") - 1;  // of the legend
  };
  CHECK(markers(10) == 10);
  // A page of 900 has room for 100 markers; the last point always has one.
  CHECK(markers(2000) <= 101);
  CHECK(markers(2000) >= 50);
}

TEST_CASE("an axis of whole numbers has no ticks between them") {
  BubblePlot plot{"", "", "", "", {}};
  plot.percent = plot.logarithmic = false;
  plot.series = {{"a", {{1, 3}, {2, 1}}, {}}};
  const auto has_fraction = [&] {
    const std::vector<std::string> all = texts_in(draw_bubble_plot(PictureFormat::svg, plot));
    return std::ranges::any_of(
        all, [](const auto& text) { return text.find('.') != std::string::npos; });
  };
  CHECK_FALSE(has_fraction());
  plot.series[0].simulated[0].first = 0.5;
  CHECK(has_fraction());
  plot.series[0].simulated[0] = {1, 2.5};
  CHECK(has_fraction());
}

TEST_CASE("series that coincide for a while alternate along their line, and nest their markers") {
  // Two lines from 4 to 8 at one place, then apart: colour by colour, both are seen.
  BubblePlot plot{"", "", "", "", {}};
  plot.series = {{"a", {{4, 0.4}, {8, 0.2}, {16, 0.1}}, {}},
                 {"b", {{4, 0.4}, {8, 0.2}, {16, 0.15}}, {}}};
  const auto strokes = [&] {
    return count_of(draw_bubble_plot(PictureFormat::svg, plot), "<path");
  };
  const std::size_t dashed = strokes();
  plot.series[1].simulated = {{4, 0.35}, {8, 0.25}, {16, 0.15}};
  CHECK(dashed > strokes() + 10);
}

TEST_CASE("a bubble plot of many series names each of them, however small the page") {
  BubblePlot plot{"", "", "", "", {}};
  for (int i = 0; i < 30; ++i) {
    plot.series.push_back({"series " + std::to_string(i), {{1, i / 30.0}}, {}});
  }
  for (const double width : {200.0, 321.0, 900.0}) {
    plot.options.width = width;
    const std::string svg = draw_bubble_plot(PictureFormat::svg, plot);
    for (int i = 0; i < 30; ++i) CHECK(has_text(svg, "series " + std::to_string(i)));
  }
}

TEST_CASE("a bubble plot refuses points that have no place in it") {
  constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
  for (const auto& point : {std::pair{0.0, 0.5}, std::pair{4.0, no_number}, {no_number, 0.5}}) {
    BubblePlot plot;
    plot.series = {{"1f1b", {point}, {}}};
    CHECK_THROWS_AS(draw_bubble_plot(PictureFormat::svg, plot), InputError);
  }
}

TEST_CASE("many panels wrap: a page whose width is not given is as wide as that of four") {
  const auto width_of = [](std::size_t panels) {
    CalibrationPlot plot;
    plot.panels.resize(panels);
    for (CalibrationPanel& panel : plot.panels) panel.series = {{"a", {{1, 2, 1, 3}}}};
    const std::string svg = draw_calibration_plot(PictureFormat::svg, plot);
    const std::size_t begin = svg.find("width=\"") + 7;
    return std::stoi(svg.substr(begin));
  };
  CHECK(width_of(15) == width_of(4));
  CHECK(width_of(4) > width_of(3));
}

TEST_CASE("a layout that fits lies above one at its place that does not") {
  FrontPlot plot{"title", {{1, 8, true}, {2, 9, false}, {2, 9, false, "out of memory"}}};
  const std::string svg = draw_front_plot(PictureFormat::svg, plot);
  const std::string hollow = R"(fill="#ffffff" stroke="#0080fa")";
  const std::string filled = R"(fill="#0080fa" stroke="#ffffff")";
  REQUIRE(says(svg, hollow));
  REQUIRE(says(svg, filled));
  CHECK(svg.find(hollow) < svg.find(filled));
}

TEST_CASE("markers of a crowd have no halos, which would leave little of them") {
  const auto without_halo = [](std::size_t others) {
    FrontPlot plot{"title", {{1, 8, true}}};
    for (std::size_t i = 0; i < others; ++i) plot.points.push_back({2 + 1e-6 * double(i), 9});
    return count_of(draw_front_plot(PictureFormat::svg, plot), R"(stroke-width="0")");
  };
  CHECK(without_halo(4) == 0);
  CHECK(without_halo(500) == 500);
}

TEST_CASE("heat maps: words are turned where they would touch, and none is left out") {
  const std::string svg = narrow_map(schedules, {1, 2, 3, 4, 5, 6});
  for (const std::string& name : schedules) CHECK(has_text(svg, name));
  CHECK(says(svg, "rotate(-90"));
  CHECK(!says(narrow_map({"a", "b"}, {1, 2}), "rotate(-90"));
  // Numbers between others may be left out.
  std::vector<std::string> numbers;
  for (int i = 1000; i < 1020; ++i) numbers.push_back(fmt::format("{}", i));
  const std::string counted = narrow_map(numbers, std::vector<double>(20, 1));
  CHECK(has_text(counted, "1000"));
  CHECK_FALSE(has_text(counted, "1001"));
  CHECK(!says(counted, "rotate(-90"));
}

TEST_CASE("heat maps: all cells have their numbers, or none has") {
  const std::string all = narrow_map({"a", "b"}, {1.5, 2.5});
  CHECK(has_text(all, "1.5"));
  CHECK(has_text(all, "2.5"));
  const std::string none = narrow_map(schedules, {1, 2, 3, 4, 5, 1234567.8});
  CHECK_FALSE(has_text(none, "2"));
  CHECK_FALSE(has_text(none, "1.235e+06"));
}

TEST_CASE("heat maps: each format draws turned words") {
  HeatMap map{.title = "",
              .x_label = "",
              .y_label = "",
              .value_label = "",
              .columns = schedules,
              .rows = {"none"},
              .cells = {{1, 2, 3, 4, 5, 6}}};
  map.options.width = 321;
  for (const PictureFormat format : formats) CHECK(draw_heat_map(format, map).size() > 500);
}

}  // namespace penstock::testing
