#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "experiments/show/pictures/axis.hpp"
#include "experiments/show/pictures/picture.hpp"
#include "experiments/show/pictures/plots/plots.hpp"
#include "sim/base/error.hpp"
#include "tests/support/pictures.hpp"

namespace penstock::testing {

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
    std::size_t count = 0;
    for (std::size_t at = svg.find("paint-order"); at != std::string::npos;
         at = svg.find("paint-order", at + 1)) {
      ++count;
    }
    return count - 1;  // of the legend
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
    const std::string svg = draw_bubble_plot(PictureFormat::svg, plot);
    std::size_t count = 0;
    for (std::size_t at = svg.find("<path"); at != std::string::npos;
         at = svg.find("<path", at + 1)) {
      ++count;
    }
    return count;
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

}  // namespace penstock::testing
