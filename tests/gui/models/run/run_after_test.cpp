#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <utility>
#include <variant>
#include <vector>

#include "gui/models/drawing/painted_run.hpp"
#include "gui/models/run/slack.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "sim/engines/events.hpp"
#include "tests/support/finished_run.hpp"

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

/// A simulated run as the viewer has it.
ViewedRun viewed_of(const RunResult& result) {
  return {.plan = *result.plan,
          .timeline = result.timeline,
          .costs = result.costs,
          .conditions = result.conditions,
          .report = *result.report,
          .layout = std::make_shared<const Layout>(result.layout)};
}

/// The makespan when a task takes longer.
Time makespan_with(const ViewedRun& run, TaskId task, Time longer) {
  PricedPlan priced{run.plan, run.costs, run.conditions};
  std::vector<Time> durations;
  for (TaskId each = 0; each < run.plan.tasks(); ++each) {
    durations.push_back(run.costs.duration_of(run.plan, each));
  }
  durations[task] += longer;
  priced.costs.task_duration = std::move(durations);
  const auto outcome = simulate(priced);
  return makespan(run.plan, std::get<Timeline>(outcome));
}

/// Slack of some tasks that have any, in picoseconds, a little less than is told: it is a float.
std::vector<std::pair<TaskId, std::int64_t>> some_slack(const ViewedRun& run) {
  const std::vector<float> slack = slack_of(run);
  const auto span = static_cast<double>(run.span().picoseconds);
  std::vector<std::pair<TaskId, std::int64_t>> some;
  for (TaskId task = 0; task < slack.size(); ++task) {
    const double told = static_cast<double>(slack[task]) * span;
    const auto less = static_cast<std::int64_t>(told * (1 - 1e-6)) - 1;
    if (less > 0) some.emplace_back(task, less);
  }
  return some;
}

TEST_CASE("slack: a task that takes longer by less makes no run longer, also on shared links") {
  std::size_t checked = 0;
  CHECK(rc::check([&] {
    const ViewedRun run = viewed_of(testing::random_shared_run());
    REQUIRE(has_slack(run));
    for (const auto& [task, slack] : some_slack(run)) {
      if (run.plan.class_of(task).partner != UINT32_MAX) continue;  // a fused cell has one length
      RC_ASSERT(makespan_with(run, task, Time{slack}) == run.span());
      ++checked;
    }
  }));
  CHECK(checked > 1000);
}

TEST_CASE("slack: on links of their own, a task that takes longer by more makes the run longer") {
  CHECK(rc::check([] {
    const ViewedRun run = viewed_of(testing::random_relaxed_run());
    if (!knows_all_slack(run)) return;
    for (const auto& [task, slack] : some_slack(run)) {
      RC_ASSERT(makespan_with(run, task, Time{slack}) == run.span());
      RC_ASSERT(makespan_with(run, task, Time{slack + slack / 100'000 + 10}) > run.span());
    }
  }));
}

TEST_CASE(
    "slack: an op whose transfer shares a link with the critical path has none that is known") {
  const char* text =
      R"({"penstock": 1, "model": {"stages": [
            {"forward_us": 1000, "backward_us": 2000, "activation_bytes": 900000},
            {"forward_us": 1000, "backward_us": 2000, "activation_bytes": 900000},
            {"forward_us": 1000, "backward_us": 2000, "activation_bytes": 900000},
            {"forward_us": 1000, "backward_us": 2000, "activation_bytes": 900000}]},
          "hardware": {"name": "custom", "devices": 4, "sharing": "fair",
            "links": [{"name": "spine", "bandwidth_bytes_per_s": 1e9, "latency_us": 0}],
            "routes": {"0>1": ["spine"], "1>0": ["spine"], "1>2": ["spine"], "2>1": ["spine"],
                       "2>3": ["spine"], "3>2": ["spine"]}},
          "schedule": {"name": "1f1b", "microbatches": 4}})";
  const ViewedRunPtr run = viewed(parse_scenario(text, "spine.json"));
  REQUIRE(has_slack(*run));
  CHECK(!knows_all_slack(*run));
  for (const auto& [task, slack] : some_slack(*run)) {
    CHECK(makespan_with(*run, task, Time{slack}) == run->span());
  }
  CHECK(!has_slack(*viewed(turned_run({"/memory/capacity_bytes=80e9", "/memory/policy=stall"}))));
}

}  // namespace
}  // namespace penstock
