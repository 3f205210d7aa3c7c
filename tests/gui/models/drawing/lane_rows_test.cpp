#include "gui/models/drawing/lane_rows.hpp"

#include <doctest/doctest.h>

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

}  // namespace
}  // namespace penstock
