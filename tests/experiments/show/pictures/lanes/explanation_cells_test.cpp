#include <doctest/doctest.h>

#include <vector>

#include "experiments/show/pictures/lanes/lane_cells.hpp"
#include "sim/report/report.hpp"
#include "tests/support/pictures.hpp"

namespace penstock::testing {

TEST_CASE("a gap becomes a cell for each of its causes, in the order they happen") {
  std::vector<Lane> lanes(2);
  lanes[1] = {cell(0, 10, f, 0), cell(41, 50, b, 0)};
  IdleGap gap{.rank = Rank{1}, .begin = Time{10}, .end = Time{41}};
  gap.causes = {.dependency = Time{1},
                .contention = Time{2},
                .transfer = Time{4},
                .memory = Time{8},
                .launch = Time{16}};
  const IdleGap drain{
      .rank = Rank{1}, .begin = Time{50}, .end = Time{60}, .causes = {.drain = Time{10}}};
  add_idle(lanes, {drain, gap});  // longest first would do, too
  const auto idle = [](std::int64_t begin, std::int64_t end, IdleCause cause) {
    return Cell{{begin}, {end}, cause, 0, 1, {}};
  };
  CHECK(lanes[0].empty());
  CHECK(lanes[1] == Lane{cell(0, 10, f, 0), idle(10, 11, IdleCause::dependency),
                         idle(11, 13, IdleCause::contention), idle(13, 17, IdleCause::transfer),
                         idle(17, 25, IdleCause::memory), idle(25, 41, IdleCause::launch),
                         cell(41, 50, b, 0), idle(50, 60, IdleCause::drain)});
}

TEST_CASE("the gaps of a run fill what its actions leave free") {
  const DrawnRun small = one_f_one_b(4, 8);
  std::vector<Lane> filled = lanes(small.plan, small.timeline);
  add_idle(filled, idle_gaps(small.plan, small.timeline));
  const Time end = makespan(small.plan, small.timeline);
  for (const Lane& lane : filled) {
    Time at{};
    for (const Cell& one : lane) {
      CHECK(one.begin == at);
      at = one.end;
    }
    CHECK(at == end);
  }
}

TEST_CASE("idle time with a cause lies on top of a band, as high as its share") {
  Lane lane;
  for (std::int64_t at = 0; at < 400; at += 4) {
    lane.push_back(cell(at, at + 3, f, 0));
    lane.push_back({Time{at + 3}, Time{at + 4}, IdleCause::transfer, 0, 1, {}});
  }
  CHECK(merge_short(lane, Time{5}) == Lane{{Time{0}, Time{400}, f, 0.25, 1, {}},
                                           {Time{0}, Time{400}, IdleCause::transfer, 0, 0.25, {}}});
}

}  // namespace penstock::testing
