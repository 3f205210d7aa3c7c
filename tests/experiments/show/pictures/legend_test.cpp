#include <doctest/doctest.h>

#include <vector>

#include "experiments/show/pictures/page.hpp"

namespace penstock::testing {

TEST_CASE("a legend wraps, and each of its entries has a place of its own") {
  const std::vector<Point> places = legend_places({50, 60, 70, 200, 10}, 150);
  REQUIRE(places.size() == 5);
  CHECK(places[1].x == 70);  // 50 and a gap of 20
  CHECK(places[1].y == 0);
  CHECK(places[2].x == 0);  // 70 + 60 + 20 + 70 > 150
  CHECK(places[2].y == legend_row);
  CHECK(places[3].y == 2 * legend_row);  // wider than a row
  CHECK(places[4].y == 3 * legend_row);
}

}  // namespace penstock::testing
