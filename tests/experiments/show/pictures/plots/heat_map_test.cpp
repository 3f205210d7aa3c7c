#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "experiments/show/pictures/plots/plots.hpp"
#include "tests/support/pictures.hpp"

namespace penstock::testing {
namespace {

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

TEST_CASE("heat maps: words are turned where they would touch, and none is left out") {
  const std::string svg = narrow_map(schedules, {1, 2, 3, 4, 5, 6});
  for (const std::string& name : schedules) CHECK(has_text(svg, name));
  CHECK(svg.find("rotate(-90") != std::string::npos);
  CHECK(narrow_map({"a", "b"}, {1, 2}).find("rotate(-90") == std::string::npos);
  // Numbers between others may be left out.
  std::vector<std::string> numbers;
  for (int i = 1000; i < 1020; ++i) numbers.push_back(fmt::format("{}", i));
  const std::string counted = narrow_map(numbers, std::vector<double>(20, 1));
  CHECK(has_text(counted, "1000"));
  CHECK_FALSE(has_text(counted, "1001"));
  CHECK(counted.find("rotate(-90") == std::string::npos);
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
