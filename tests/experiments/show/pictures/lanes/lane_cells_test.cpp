#include "experiments/show/pictures/lanes/lane_cells.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include "experiments/show/pictures/palette.hpp"
#include "sim/base/error.hpp"
#include "sim/costs/costs.hpp"
#include "sim/engines/events.hpp"
#include "sim/order/placement.hpp"
#include "sim/plan/lower.hpp"
#include "sim/report/report.hpp"
#include "tests/support/pictures.hpp"

namespace penstock::testing {

TEST_CASE("the actions of each rank become cells in their order; transfers do not") {
  const DrawnRun two = one_f_one_b(2, 2, 1e-6, 2e-6);
  const std::vector<Lane> found = lanes(two.plan, two.timeline);
  REQUIRE(found.size() == 2);
  CHECK(found[0] == Lane{cell(0, 1, f, 0), cell(1, 2, f, 1), cell(4, 6, b, 0), cell(7, 9, b, 1)});
  CHECK(found[1] == Lane{cell(1, 2, f, 0), cell(2, 4, b, 0), cell(4, 5, f, 1), cell(5, 7, b, 1)});
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
  CHECK(shades_text(interleaved.plan) == "chunks 0 to 1");
  Plan modules = interleaved.plan;
  modules.modules = {"vision", "vision", "", ""};
  CHECK(shades_text(modules) == "vision, then the model");
  Plan pieces = interleaved.plan;
  const auto crossing = std::find_if(pieces.links.begin(), pieces.links.end(),
                                     [](const Link& link) { return link.from == Rank{0}; });
  crossing->to = crossing->from;
  CHECK(shades_text(pieces) == "pieces 0 to 1");
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

TEST_CASE("a gap becomes a cell for each of its causes, in the order they happen") {
  std::vector<Lane> lanes(2);
  lanes[1] = {cell(0, 10, f, 0), cell(41, 50, b, 0)};
  IdleGap gap{.rank = Rank{1}, .begin = Time{10}, .end = Time{41}};
  gap.parts = {{IdleCause::dependency, Time{11}},
               {IdleCause::contention, Time{13}},
               {IdleCause::transfer, Time{17}},
               {IdleCause::memory, Time{25}},
               {IdleCause::launch, Time{41}}};
  const IdleGap drain{
      .rank = Rank{1}, .begin = Time{50}, .end = Time{60}, .parts = {{IdleCause::drain, Time{60}}}};
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

TEST_CASE("a short warm-up or drain stays beside the band of the actions next to it") {
  Lane lane{{Time{0}, Time{2}, IdleCause::warmup, 0, 1, {}}};
  for (std::int64_t at = 2; at < 40; ++at) lane.push_back(cell(at, at + 1, f, 0));
  lane.push_back({Time{40}, Time{42}, IdleCause::drain, 0, 1, {}});
  CHECK(merge_short(lane, Time{5}, 1) ==
        Lane{lane.front(), {Time{2}, Time{40}, f, 0, 1, {}}, lane.back()});
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
