#include "gui/models/lanes/run_lanes.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "gui/models/drawing/painted_run.hpp"
#include "gui/models/facts/area_facts.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "gui/models/view/time_axis.hpp"
#include "sim/base/time_sum.hpp"
#include "sim/report/idle.hpp"
#include "tests/support/finished_run.hpp"
#include "tests/support/small_scenarios.hpp"

namespace penstock {
namespace {

ViewedRunPtr first_run(const std::string& settings = "") {
  std::vector<std::string> all;
  if (!settings.empty()) all.push_back(settings);
  return viewed(
      read_scenario(std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json", all));
}

TEST_CASE("lanes: busy and idle time of a rank fill the makespan, whatever the run") {
  CHECK(rc::check([] {
    const RunResult result = testing::random_relaxed_run();
    const Plan& plan = *result.plan;
    const RunLanes lanes = lanes_of_run(plan, result.timeline);
    const auto idle = idle_causes(plan, result.timeline);
    for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
      const AreaUse use = use_of({0, lanes.span, rank, rank + 1}, lanes, plan);
      RC_ASSERT(use.busy + idle[rank].total().picoseconds == lanes.span);
      for (std::size_t c = 0; c < idle_cause_count; ++c) {
        RC_ASSERT(use.by_cause[c] == time_of(idle[rank], static_cast<IdleCause>(c)).picoseconds);
      }
    }
  }));
}

TEST_CASE(
    "lanes: pieces of idle time stand where the gaps of the report are, one after the other") {
  CHECK(rc::check([] {
    const RunResult result = testing::random_relaxed_run();
    const RunLanes lanes = lanes_of_run(*result.plan, result.timeline);
    for (const IdleGap& gap : idle_gaps(*result.plan, result.timeline)) {
      const Track& idle = lanes.ranks[index(gap.rank)].idle;
      std::size_t piece = idle.at(gap.begin.picoseconds);
      std::int64_t at = gap.begin.picoseconds;
      for (; at < gap.end.picoseconds; ++piece) {
        RC_ASSERT(piece < idle.size());
        RC_ASSERT(idle.begin_at(piece) == at);
        RC_ASSERT(next_of(idle.tag[piece]) == gap.next);
        at = idle.end_at(piece);
      }
      RC_ASSERT(at == gap.end.picoseconds);
      // A walk from the middle of a gap finds the same boxes.
      const std::int64_t middle = (gap.begin.picoseconds + gap.end.picoseconds) / 2;
      std::int64_t first = -1;
      idle.for_each_between(
          middle, middle + 1,
          [&](std::int64_t begin, std::int64_t, std::uint32_t) { first = begin; });
      RC_ASSERT(first == idle.begin_at(idle.at(middle)));
    }
  }));
}

TEST_CASE("lanes: every op with a length stands once in compute, or with its sender and receiver") {
  CHECK(rc::check([] {
    const RunResult result = testing::random_relaxed_run();
    const RunLanes lanes = lanes_of_run(*result.plan, result.timeline);
    std::size_t compute = 0;
    for (const RankTracks& rank : lanes.ranks) {
      for (const Track& track : rank.compute) {
        compute += track.size();
        for (std::size_t i = 1; i < track.size(); ++i)
          RC_ASSERT(track.begin_at(i) >= track.end_at(i - 1));
      }
    }
    std::size_t expected = 0;
    for (TaskId task = 0; task < result.plan->tasks(); ++task) {
      const bool is_action = !is_transfer(result.plan->class_of(task).pass);
      if (is_action && result.timeline.end[task] > result.timeline.begin[task]) ++expected;
    }
    RC_ASSERT(compute == expected);
  }));
}

TEST_CASE("area: the use of two halves adds up to that of the whole") {
  const ViewedRunPtr run = first_run();
  const RunLanes lanes = lanes_of_run(run->plan, run->timeline);
  const std::int64_t middle = lanes.span / 3;
  const AreaUse left = use_of({0, middle, 0, 4}, lanes, run->plan);
  const AreaUse right = use_of({middle, lanes.span, 0, 4}, lanes, run->plan);
  const AreaUse all = use_of({0, lanes.span, 0, 4}, lanes, run->plan);
  CHECK(left.busy + right.busy == all.busy);
  CHECK(all.busy == 4 * 24'000'000'000);
  CHECK(all.by_pass[static_cast<std::size_t>(Pass::forward)] == 32 * 1'000'000'000LL);
  CHECK(left.ops + right.ops >= all.ops);
}

TEST_CASE("area: ends snap to the nearest begin or end of an op, within reach") {
  const ViewedRunPtr run = first_run();
  const RunLanes lanes = lanes_of_run(run->plan, run->timeline);
  CHECK(nearest_edge(lanes, 0, 1, 1'000'000'400, 1000) == 1'000'000'000);
  CHECK(!nearest_edge(lanes, 0, 1, 500'000'000, 1000));
}

TEST_CASE("links: a lane is occupied for as long as the report says, latency left out") {
  const ViewedRunPtr run = first_run("/hardware/latency_us=900");
  const auto lanes = link_lanes(*run);
  REQUIRE(lanes.size() == run->plan.links.size());
  for (const LinkReport& link : run->report.links) {
    const auto& links = run->plan.links;
    const auto at = std::find(links.begin(), links.end(), link.link) - links.begin();
    const auto& tracks = lanes[static_cast<std::size_t>(at)];
    REQUIRE(tracks.size() == 1);
    std::int64_t used = 0;
    std::uint64_t transfers = 0;
    tracks.front().for_each([&](std::int64_t begin, std::int64_t end, std::uint32_t) {
      used += end - begin;
      ++transfers;
    });
    CHECK(used == link.busy.picoseconds);
    CHECK(transfers == link.transfers);
  }
}

TEST_CASE("links: transfers that occupy none leave their lanes empty") {
  const ViewedRunPtr run = viewed(parse_scenario(
      R"({"penstock": 1, "model": {"stages": [{"forward_us": 1, "backward_us": 2},
          {"forward_us": 1, "backward_us": 2}]}, "hardware": {"name": "ideal", "devices": 2,
          "transfer_us": 3}, "schedule": {"name": "1f1b", "microbatches": 4}})",
      "free links"));
  for (const auto& tracks : link_lanes(*run)) CHECK(tracks.empty());
}

TEST_CASE("memory: the steps of each rank reach the peak that the report has, by kind") {
  const ViewedRunPtr run = first_run();
  const RunMemory memory = memory_of_run(*run);
  REQUIRE(memory.ranks.size() == 4);
  CHECK(!memory.kinds.empty());
  std::uint64_t peak = 0;
  for (const RankReport& rank : run->report.ranks) peak = std::max(peak, rank.memory.bytes);
  CHECK(memory.most == peak);
  const RunMemory coarse = memory_of_run(*run, 3);
  CHECK(coarse.most == peak);
  CHECK(coarse.ranks[0].held.size() <= 4);
}

TEST_CASE("colouring: passes have the colours of the command line's pictures") {
  const ViewedRunPtr run = first_run();
  const Colouring by_pass(*run, ColourBy::pass);
  const Colouring by_stage(*run, ColourBy::stage);
  CHECK(by_pass.category(0) == static_cast<std::uint8_t>(Pass::forward));
  CHECK(by_pass.colour(0) == pass_colour(Pass::forward));
  CHECK(by_stage.category(0) == 0);
}

/// Of plan, times, lanes and pyramids.
double bytes_per_op(const ViewedRunPtr& run) {
  const PaintedRunPtr drawn = painted(run, ColourBy::pass);
  const Plan& plan = run->plan;
  const std::size_t spine = 4 * (plan.work.size() + plan.microbatch.size() + plan.input.size() +
                                 plan.inputs.size() + run->timeline.last_input.size()) +
                            8 * (run->timeline.begin.size() + run->timeline.end.size());
  return static_cast<double>(spine + drawn->bytes()) / plan.tasks();
}

TEST_CASE("painted run: with plan and times at most 60 bytes an op, on 4 ranks and on 64") {
  CHECK(bytes_per_op(first_run("/schedule/microbatches=4000")) <= 60);
  CHECK(bytes_per_op(viewed(testing::on_64_ranks(1000))) <= 60);
}

TEST_CASE("area: idle time of all ranks may exceed the clock") {
  const RunResult result = run(parse_scenario(testing::scenario_idle_beyond_clock(), "s.json"));
  const RunLanes lanes = lanes_of_run(*result.plan, result.timeline);
  const Area all{0, lanes.span, 0, 12};
  constexpr WideInteger expected = WideInteger{11} * 1'000'000'000'000'000'000;
  const auto warmup = static_cast<std::uint32_t>(IdleCause::warmup);
  CHECK(use_of(all, lanes, *result.plan).by_cause[warmup] == expected);
  for (const AreaRow& row : rows_of(all, lanes, *result.plan)) {
    if (row.group == AreaGroup::cause && row.key == warmup) CHECK(row.sum == expected);
  }
  CHECK(exact_time(expected) == "11000000 s");
  CHECK(signed_time(-expected) == "-11000000 s");
}

}  // namespace
}  // namespace penstock
