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

TEST_CASE("rows: all strips of a fitting height fit, and follow each other without overlap") {
  for (const std::uint32_t ranks : {1U, 4U, 16U}) {
    for (const bool memory : {false, true}) {
      const LaneChoice choice{.ranks = ranks, .memory = memory};
      const int height = fitting_lane_height(choice, choice.ranks, 1000);
      const auto rows = lane_rows(choice, height);
      CHECK((height_of(rows) <= 1000 || height == 9));
      for (std::size_t i = 1; i < rows.size(); ++i) {
        CHECK(rows[i].top >= rows[i - 1].top + rows[i - 1].height);
      }
    }
  }
}

TEST_CASE("rows: links stand below all ranks, and all still fit") {
  LaneChoice choice{.ranks = 4, .receives = true, .links = true, .link_count = 6};
  const int height = fitting_lane_height(choice, choice.ranks, 600);
  const auto rows = lane_rows(choice, height);
  CHECK(height_of(rows) <= 600);
  CHECK(rows.size() == 4 * 3 + 6);
  for (std::size_t i = 12; i < rows.size(); ++i) {
    CHECK(rows[i].kind == LaneKind::link);
    CHECK(rows[i].rank == i - 12);
    CHECK(rows[i].top > rows[i - 1].top);
  }
}

TEST_CASE("rows: pinned ranks stand above the others, and their room ends where these begin") {
  LaneChoice choice{.ranks = 4, .transfers = false, .pinned = {2, 3}};
  const auto rows = lane_rows(choice, 20);
  CHECK(rows[0].rank == 2);
  CHECK(rows[1].pinned);
  CHECK(!rows[2].pinned);
  CHECK(pinned_height(rows) == rows[2].top);
  choice.pinned.clear();
  CHECK(pinned_height(lane_rows(choice, 20)) == 0);
}

TEST_CASE("rows: two runs stand one above the other, mirrored, or as a ghost") {
  LaneChoice choice{.ranks = 2, .transfers = false, .runs = 2};
  CHECK(lane_rows(choice, 20).size() == 4);
  CHECK(lane_rows(choice, 20)[1].ghost);
  choice.style = PairStyle::mirrored;
  CHECK(lane_rows(choice, 20).size() == 6);
  choice.style = PairStyle::only_other;
  CHECK(lane_rows(choice, 20)[0].run == 1);
}

TEST_CASE("rows: several runs stand one above the other, each other one with its differences") {
  LaneChoice choice{.ranks = 2, .transfers = false, .runs = 4, .style = PairStyle::above};
  const auto rows = lane_rows(choice, 20);
  std::string order;
  for (const LaneRow& row : rows) {
    if (row.rank == 1) continue;
    order += letter_of_run(row.run);
    if (row.kind == LaneKind::difference) order += '-';
  }
  CHECK(order == "ABB-CC-DD-");
  choice.style = PairStyle::ghost;
  const auto ghosts = lane_rows(choice, 20);
  REQUIRE(ghosts.size() == 8);
  CHECK(!ghosts[0].ghost);
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK(ghosts[i].run == i);
    CHECK(ghosts[i].top >= (i == 1 ? 1 : ghosts[i - 1].top + ghosts[i - 1].height));
  }
  CHECK(ghosts[3].top + ghosts[3].height == 20);
  choice.style = PairStyle::only_other;
  choice.other = 3;
  for (const LaneRow& row : lane_rows(choice, 20)) CHECK(row.run == 3);
}

TEST_CASE("rows: where the second run was frozen it is A, stands on top, and has no differences") {
  LaneChoice choice{
      .ranks = 1, .transfers = false, .runs = 3, .style = PairStyle::above, .frozen = true};
  std::string order;
  for (const LaneRow& row : lane_rows(choice, 20)) {
    order += letter_of_run(row.run, true);
    order += std::to_string(row.run);
    if (row.kind == LaneKind::difference) order += '-';
  }
  CHECK(order == "A1B0B0-C2C2-");
  choice.style = PairStyle::only_first;
  CHECK(lane_rows(choice, 20).front().run == 1);
  choice.style = PairStyle::only_other;
  CHECK(lane_rows(choice, 20).front().run == 0);
  choice.style = PairStyle::ghost;
  CHECK(lane_rows(choice, 20).front().run == 0);
  CHECK(!lane_rows(choice, 20).front().ghost);
}

}  // namespace
}  // namespace penstock
