#include <doctest/doctest.h>

#include <variant>
#include <vector>

#include "experiments/show/pictures/lanes/lane_cells.hpp"
#include "sim/base/error.hpp"
#include "sim/costs/costs.hpp"
#include "sim/engines/relax.hpp"
#include "sim/order/placement.hpp"
#include "sim/plan/lower.hpp"
#include "tests/support/pictures.hpp"

namespace penstock::testing {

TEST_CASE("the actions of each rank become cells in their order; transfers do not") {
  const DrawnRun two = one_f_one_b(2, 2, 1e-6, 2e-6);
  const std::vector<Lane> found = lanes(two.plan, two.timeline);
  REQUIRE(found.size() == 2);
  CHECK(found[0] == Lane{cell(0, 1, f, 0), cell(1, 2, f, 1), cell(4, 6, b, 0), cell(7, 9, b, 1)});
  CHECK(found[1] == Lane{cell(1, 2, f, 0), cell(2, 4, b, 0), cell(4, 5, f, 1), cell(5, 7, b, 1)});
  CHECK(last_end(found) == Time{9});
}

TEST_CASE("transfers of the tail are strips of the rank that sends them, ties above the others") {
  // One rank: F 0-1, B 1-3 in picoseconds; the sum takes as long as B.
  Schedule schedule(1);
  schedule.on(Rank{0}) = {{Pass::forward, Stage{0}, Microbatch{0}},
                          {Pass::backward, Stage{0}, Microbatch{0}}};
  Extras extras;
  extras.tail.reduces = {true};
  const Plan plan = std::get<Plan>(lower(schedule, Placement::loop(1, 1), Overlap::serial, extras));
  Costs costs;
  for (const WorkClass& work : plan.classes) {
    costs.duration.push_back({work.pass == Pass::forward ? 1 : 2});
    costs.latency.push_back({});
  }
  const Timeline timeline = relax({plan, costs});
  CHECK(lanes(plan, timeline)[0].size() == 2);
  const std::vector<Lane> strips = tail_strips(plan, timeline);
  REQUIRE(strips.size() == 1);
  REQUIRE(strips[0].size() == 1);
  CHECK(strips[0][0].begin == Time{3});
  CHECK(strips[0][0].end == Time{5});
  CHECK(strips[0][0].bottom == 1);
  CHECK(std::get<ActionKind>(strips[0][0].kind).pass == Pass::reduce_gradient);
}

TEST_CASE("actions without length are not drawn") {
  const DrawnRun two = one_f_one_b(2, 2, 0, 2e-6);
  CHECK(lanes(two.plan, two.timeline)[1] == Lane{cell(0, 2, b, 0), cell(2, 4, b, 1)});
}

TEST_CASE("the chunks of a rank are counted from its first stage") {
  Schedule schedule(2);
  for (std::uint32_t stage : {0u, 1u, 2u, 3u}) {
    schedule.on(Rank{stage % 2}).push_back({Pass::forward, Stage{stage}, Microbatch{0}});
  }
  const DrawnRun interleaved = drawn(schedule, Placement::loop(2, 2), 1, 1);
  CHECK(most_chunks(interleaved.plan) == 2);
  for (const Lane& lane : lanes(interleaved.plan, interleaved.timeline)) {
    REQUIRE(lane.size() == 2);
    CHECK(lane[0].kind == CellKind{ActionKind{Pass::forward, 0}});
    CHECK(lane[1].kind == CellKind{ActionKind{Pass::forward, 1}});
  }
}

TEST_CASE("the parts of an overlap cell share the height of the lane") {
  const DrawnRun fused = one_fused_cell(1, 2);
  const Lane lane = lanes(fused.plan, fused.timeline)[0];
  REQUIRE(lane.size() == 4);
  CHECK(lane[0].bottom - lane[0].top == 1);
  CHECK(lane[1].kind == CellKind{f});
  CHECK(lane[1].top == 0);
  CHECK(lane[1].bottom == 0.5);
  CHECK(lane[2].kind == CellKind{b});
  CHECK(lane[2].top == 0.5);
  CHECK(lane[2].bottom == 1);
  CHECK(lane[1].begin == lane[2].begin);
}

TEST_CASE("a part of an overlap cell has the whole height when the other has no length") {
  DrawnRun fused = one_fused_cell(1, 2);
  fused.timeline.end[2] = fused.timeline.begin[2];
  const Lane lane = lanes(fused.plan, fused.timeline)[0];
  REQUIRE(lane.size() == 3);
  CHECK(lane[1].bottom == 1);
}

TEST_CASE("a timeline of another plan is refused") {
  const Plan plan = one_f_one_b(2, 2).plan;
  CHECK_THROWS_AS(lanes(plan, one_f_one_b(2, 3).timeline), InputError);
}

}  // namespace penstock::testing
