#include "gui/models/drawing/lane_rows.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace penstock {
namespace {

TEST_CASE(
    "rows: in the mirror the strips of B are those of A upside down, with differences between") {
  for (const bool frozen : {false, true}) {
    const LaneChoice choice{.ranks = 1,
                            .transfers = true,
                            .receives = true,
                            .memory = true,
                            .runs = 2,
                            .style = PairStyle::mirrored,
                            .frozen = frozen};
    const auto rows = lane_rows(choice, 30);
    REQUIRE(rows.size() == 9);
    CHECK(rows[4].kind == LaneKind::difference);
    for (std::size_t i = 0; i < 4; ++i) {
      const LaneRow& a = rows[i];
      const LaneRow& b = rows[8 - i];
      CHECK(a.run == (frozen ? 1 : 0));
      CHECK(b.run == (frozen ? 0 : 1));
      CHECK(a.kind == b.kind);
      CHECK(a.height == b.height);
      CHECK(!a.flipped);
      CHECK(b.flipped);
    }
    CHECK(rows[3].kind == LaneKind::compute);
  }
}

TEST_CASE("rows: low strips of many ranks fill the room, one below the other and nearly as high") {
  for (const std::uint32_t ranks : {130U, 300U, 512U, 700U}) {
    for (const PairStyle style : {PairStyle::ghost, PairStyle::above}) {
      LaneChoice choice{.ranks = ranks, .runs = 2, .style = style, .room = 747};
      const int height = fitting_lane_height(choice, ranks, choice.room);
      REQUIRE(height < least_drawn_height);
      const std::vector<LaneRow> rows = lane_rows(choice, height);
      const int natural = static_cast<int>(rows.size()) * height;
      CHECK(height_of(rows) == std::max(natural, choice.room));
      int end = 0;
      const auto [low, high] = std::minmax_element(
          rows.begin(), rows.end(),
          [](const LaneRow& a, const LaneRow& b) { return a.height < b.height; });
      CHECK(high->height - low->height <= 1);
      for (const LaneRow& row : rows) {
        CHECK(row.top == end);
        end = row.top + row.height;
      }
      choice.room = 0;
      CHECK(height_of(lane_rows(choice, height)) == natural);
    }
  }
}

}  // namespace
}  // namespace penstock
