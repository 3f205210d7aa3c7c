#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "experiments/show/pictures/lanes/lane_cells.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "sim/report/report.hpp"
#include "tests/support/pictures.hpp"

namespace penstock::testing {

TEST_CASE("short cells merge into bands in which each kind is as high as its share of the time") {
  Lane lane;
  for (std::int64_t at = 0; at < 400; at += 4) {
    lane.push_back(cell(at, at + 1, f, 0));
    lane.push_back(cell(at + 1, at + 4, b, 0));
  }
  const Lane band{{Time{0}, Time{400}, f, 0.75, 1, {}}, {Time{0}, Time{400}, b, 0, 0.75, {}}};
  CHECK(merge_short(lane, Time{5}) == band);
}

TEST_CASE("idle time inside a band stays free at its top") {
  Lane lane;
  for (std::int64_t at = 0; at <= 384; at += 4) lane.push_back(cell(at, at + 3, f, 7));
  const Lane merged = merge_short(lane, Time{5});
  REQUIRE(merged.size() == 2);
  CHECK(merged[0] == Cell{Time{0}, Time{384}, f, 0.25, 1, {}});
  CHECK(merged[1] == cell(384, 387, f, 7));
}

TEST_CASE("long cells, lone short ones and gaps that can be seen stay as they are") {
  const Lane lane{cell(0, 10, f, 0),  cell(10, 12, b, 0), cell(12, 30, f, 1),
                  cell(30, 31, b, 1), cell(36, 37, b, 2), cell(50, 60, b, 3)};
  CHECK(merge_short(lane, Time{5}) == lane);
}

TEST_CASE("cells that lie on each other mix their colours by their heights") {
  const Lane lane{cell(0, 5, f, 0),
                  {Time{5}, Time{9}, f, 0.5, 1, {}},
                  {Time{5}, Time{9}, b, 0, 0.5, {}},
                  {Time{9}, Time{12}, IdleCause::drain, 0, 1, {}}};
  const std::vector<MixedCell> mixed = mixed_cells(lane, 1);
  REQUIRE(mixed.size() == 3);
  CHECK(mixed[0].colour == pass_colour(Pass::forward));
  CHECK(mixed[0].cell == lane[0]);
  const Colour half = mix(pass_colour(Pass::forward), pass_colour(Pass::backward), 0.5);
  CHECK(std::abs(mixed[1].colour.red - half.red) <= 3);
  CHECK(std::abs(mixed[1].colour.blue - half.blue) <= 3);
  CHECK(mixed[1].cell.top == 0);
  CHECK(mixed[1].cell.bottom == 1);
  CHECK(mixed[2].colour == idle_colour(IdleCause::drain));
}

TEST_CASE("merging keeps the area of each kind") {
  const auto area = [](const Lane& lane, CellKind kind) {
    double sum = 0;
    for (const Cell& c : lane) {
      if (c.kind == kind) {
        sum += static_cast<double>((c.end - c.begin).picoseconds) * (c.bottom - c.top);
      }
    }
    return sum;
  };
  Lane lane;
  std::uint32_t random = 1;
  for (std::int64_t at = 0; lane.size() < 5000;) {
    random = random * 1664525 + 1013904223;
    const std::int64_t length = 1 + (random >> 16) % 12;
    lane.push_back(cell(at, at + length, (random >> 28) % 2 == 0 ? f : b, 0));
    at += length + ((random >> 8) % 4 == 0 ? (random >> 12) % 20 : 0);
  }
  const Lane merged = merge_short(lane, Time{10});
  CHECK(merged.size() < lane.size());
  CHECK(area(merged, f) == doctest::Approx(area(lane, f)));
  CHECK(area(merged, b) == doctest::Approx(area(lane, b)));
}

}  // namespace penstock::testing
