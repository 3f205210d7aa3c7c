#include <doctest/doctest.h>

#include <cstddef>
#include <string>

#include "experiments/show/pictures/picture.hpp"
#include "experiments/show/pictures/plots/plots.hpp"

namespace penstock::testing {
namespace {

std::size_t count_of(const std::string& svg, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("a layout that fits lies above one at its place that does not") {
  FrontPlot plot{"title", {{1, 8, true}, {2, 9, false}, {2, 9, false, "out of memory"}}};
  const std::string svg = draw_front_plot(PictureFormat::svg, plot);
  const std::string hollow = R"(fill="#ffffff" stroke="#0080fa")";
  const std::string filled = R"(fill="#0080fa" stroke="#ffffff")";
  REQUIRE(svg.find(hollow) != std::string::npos);
  REQUIRE(svg.find(filled) != std::string::npos);
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

}  // namespace penstock::testing
