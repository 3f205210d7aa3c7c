#include <doctest/doctest.h>

#include "gui/models/drawing/painted_run.hpp"
#include "gui/models/run/viewed_run.hpp"

namespace penstock {
namespace {

Scenario turned_run(const std::vector<std::string>& settings) {
  return read_scenario(std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json",
                       settings);
}

std::vector<std::pair<std::int64_t, std::int64_t>> times_of(const Track& track) {
  std::vector<std::pair<std::int64_t, std::int64_t>> times;
  for (std::size_t box = 0; box < track.size(); ++box) {
    times.emplace_back(track.begin_at(box), track.end_at(box));
  }
  return times;
}

TEST_CASE("quick change: times, plan and lanes are those of a run from the start") {
  const ViewedRunPtr before = viewed(turned_run({}));
  Chain chain;
  for (const char* setting :
       {"/hardware/latency_us=700", "/model/stages/2/forward_us=1500", "/chance/jitter=0.2",
        "/overheads/launch_us=30", "/schedule/microbatches=5", "/schedule/name=gpipe"}) {
    CAPTURE(setting);
    const Scenario turned = turned_run({setting});
    const ViewedRunPtr quick = viewed_after(chain, turned);
    const ViewedRunPtr whole = viewed(turned);
    CHECK(plan_hash(quick->plan) == plan_hash(whole->plan));
    CHECK(quick->timeline == whole->timeline);
    CHECK(quick->report.makespan == whole->report.makespan);
    CHECK(quick->report.bubble.of_makespan == whole->report.bubble.of_makespan);
    CHECK(quick->title == whole->title);
    const PaintedRunPtr lanes = painted_after(quick, *painted(before, ColourBy::stage));
    const PaintedRunPtr anew = painted(whole, ColourBy::stage);
    CHECK(lanes->by == ColourBy::stage);
    for (std::size_t rank = 0; rank < anew->lanes->ranks.size(); ++rank) {
      const RankTracks& own = lanes->lanes->ranks[rank];
      const RankTracks& other = anew->lanes->ranks[rank];
      REQUIRE(own.compute.size() == other.compute.size());
      CHECK(own.compute.front().tag == other.compute.front().tag);
      CHECK(times_of(own.compute.front()) == times_of(other.compute.front()));
      CHECK(times_of(own.idle) == times_of(other.idle));
      CHECK(own.idle.tag == other.idle.tag);
    }
  }
}

TEST_CASE("quick change: is brief; a plan that comes again is kept, so costs alone lower nothing") {
  Chain chain;
  for (const char* us : {"700", "800", "900"}) {
    CHECK(viewed_after(chain, turned_run({std::string("/hardware/latency_us=") + us}))->brief);
  }
  CHECK(chain.known_plans() == 1);
  CHECK(viewed_after(chain, turned_run({"/schedule/microbatches=5"}))->brief);
  CHECK(chain.known_plans() == 1);
}

TEST_CASE("slack: none on the critical path; by that much an op can grow, and no more") {
  const ViewedRunPtr run = viewed(turned_run({"/model/stages/1/forward_us=1300"}));
  const std::vector<float> slack = slack_of(*run);
  for (const PathStep& step : run->report.critical_path) CHECK(slack[step.task] == 0);
  const double span = static_cast<double>(run->span().picoseconds);
  std::size_t loose = 0;
  for (TaskId task = 0; task < run->plan.tasks(); ++task) {
    const double left = span - static_cast<double>(run->timeline.end[task].picoseconds);
    CHECK(static_cast<double>(slack[task]) * span <= left * (1 + 1e-6) + 1);
    loose += slack[task] > 0 ? 1 : 0;
  }
  CHECK(loose > 10);
}

}  // namespace
}  // namespace penstock
