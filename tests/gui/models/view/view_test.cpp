#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "experiments/run/run.hpp"
#include "experiments/show/explanation/explanation.hpp"
#include "gui/models/drawing/painted_run.hpp"
#include "gui/models/lanes/run_lanes.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "gui/models/view/op_steps.hpp"
#include "gui/models/view/time_axis.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

ViewedRunPtr example() {
  return viewed(
      read_scenario(std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json"));
}

TEST_CASE("time axis: a time goes to its position and back to within half a pixel") {
  CHECK(rc::check([] {
    const auto begin = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000);
    const auto length = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000);
    const auto time = begin + *rc::gen::inRange<std::int64_t>(0, length);
    const TimeAxis axis = axis_for(begin, begin + length, 1900);
    const double error = static_cast<double>(axis.time_at(axis.x_of(time)) - time);
    RC_ASSERT(std::fabs(error) <= 1 + axis.picoseconds_per_pixel * 1e-6);
  }));
}

TEST_CASE(
    "time axis: zooming keeps the time under the pointer, and zooming back restores the view") {
  const TimeAxis axis = axis_for(0, 38'400'000'000, 1000);
  const TimeAxis closer = zoomed(axis, 700, 0.25, 38'400'000'000, 1000);
  CHECK(std::llabs(closer.time_at(700) - axis.time_at(700)) <= 1);
  CHECK(closer.picoseconds_per_pixel == doctest::Approx(axis.picoseconds_per_pixel / 4));
  const TimeAxis back = zoomed(closer, 700, 4, 38'400'000'000, 1000);
  CHECK(std::llabs(back.origin - axis.origin) <= 2);
}

TEST_CASE("time axis: some part of the run stays in sight however far a hand goes") {
  const std::int64_t span = 1'000'000;
  const TimeAxis axis = axis_for(0, span, 1000);
  CHECK(panned(axis, 1e9, span, 1000).origin < span);
  CHECK(panned(axis, -1e9, span, 1000).time_at(1000) > 0);
  CHECK(zoomed(axis, 0, 1e-12, span, 1000).picoseconds_per_pixel == 1);
  CHECK(zoomed(axis, 0, 1e12, span, 1000).picoseconds_per_pixel <= 4 * 1000);
}

TEST_CASE("time axis: a run of nearly the whole clock is seen whole, and zoomed out") {
  const std::int64_t span = 8'000'000'000'000'000'000;
  const TimeAxis axis = axis_for(0, span, 1000);
  CHECK(axis.time_at(1000) == span);
  CHECK(axis.time_at(1e6) == INT64_MAX);
  const TimeAxis out = zoomed(axis, 500, 4, span, 1000);
  CHECK(out.picoseconds_per_pixel == 3.2e16);
  CHECK(out.x_of(0) >= 0);
  CHECK(out.x_of(span) - out.x_of(0) == doctest::Approx(250));
  const auto ticks = ruler_ticks(out, 1000, 80);
  CHECK(!ticks.empty());
  CHECK(ticks.size() <= 13);
}

TEST_CASE("ruler: ticks are round times in one unit, far enough from each other") {
  const auto ticks = ruler_ticks(axis_for(0, 38'400'000'000, 1000), 1000, 80);
  REQUIRE(ticks.size() > 3);
  CHECK(ticks[0].text == "0 ms");
  CHECK(ticks[1].text == "5 ms");
  for (std::size_t i = 1; i < ticks.size(); ++i) CHECK(ticks[i].x - ticks[i - 1].x >= 79);
  const auto close = ruler_ticks(axis_for(38'000'000'000, 38'000'000'100, 1000), 1000, 80);
  CHECK(close[0].text != close[1].text);
}

TEST_CASE("times for a person have four digits and a unit") {
  CHECK(short_time(1'250'000'000) == "1.25 ms");
  CHECK(short_time(0) == "0");
  CHECK(short_time(-1'500'000) == "-1.5 µs");
  CHECK(short_time(123'456'789'000) == "123.5 ms");
}

TEST_CASE("views: undo goes back through jumps; a run of zooming is one step") {
  ViewHistory history(CanvasView{{0, 1}});
  history.move({{0, 2}}, ViewMove::zoom);
  history.move({{0, 3}}, ViewMove::zoom);
  history.move({{5, 3}}, ViewMove::pan);
  CHECK(history.now().axis.origin == 5);
  history.back();
  CHECK(history.now().axis.picoseconds_per_pixel == 3);
  history.back();
  CHECK(history.now().axis.picoseconds_per_pixel == 1);
  CHECK(!history.can_go_back());
  history.forward();
  CHECK(history.now().axis.picoseconds_per_pixel == 3);
  history.move({{9, 9}}, ViewMove::jump);
  CHECK(!history.can_go_forward());
}

TEST_CASE("search: every condition narrows; the name of an op finds it alone") {
  const ViewedRunPtr run = example();
  const auto count = [&](const char* text) { return find_ops(read_query(text), *run).size(); };
  CHECK(count("kind:F") == 32);
  CHECK(count("kind:B stage:3") == 8);
  CHECK(count("stage:1 kind:B mb:5") == 1);
  CHECK(count("1B5") == 1);
  CHECK(count("kind:F dur>1ms") == 0);
  CHECK(count("kind:F dur>0.9ms") == 32);
  CHECK(count("kind:F dur<1us") == 0);
  CHECK(count("rank:0 kind:SEND_F") == 8);
  const auto found = find_ops(read_query("rank:2"), *run);
  for (std::size_t i = 1; i < found.size(); ++i) {
    CHECK(run->timeline.begin[found[i]] >= run->timeline.begin[found[i - 1]]);
  }
}

TEST_CASE("search: ops without length are found and listed, free transfers are not") {
  // The first stage needs no gradient of its input: I takes no time there.
  const ViewedRunPtr run = viewed(parse_scenario(R"({
    "model": {"stages": [
      {"forward_us": 1, "backward_input_us": 0, "backward_weight_us": 1},
      {"forward_us": 1, "backward_input_us": 1, "backward_weight_us": 1}]},
    "schedule": {"name": "zb-h1", "microbatches": 8}})",
                                                 "s.json"));
  CHECK(find_ops(read_query("stage:0 kind:I mb:7"), *run).size() == 1);
  CHECK(find_ops(read_query("kind:SEND_F"), *run).empty());
  const std::vector<TaskId> ops = ops_of_rank(*run, 0, 0);
  CHECK(ops.size() == 24);  // F, I and W of 8 microbatches
  CHECK(std::is_sorted(ops.begin(), ops.end(), [&](TaskId a, TaskId b) {
    return run->timeline.begin[a] < run->timeline.begin[b];
  }));
  const TaskId seventh = find_ops(read_query("0I7"), *run).at(0);
  const std::vector<TaskId> later = ops_of_rank(*run, 0, run->timeline.begin[seventh].picoseconds);
  CHECK(std::find(later.begin(), later.end(), seventh) != later.end());
  CHECK(ops_of_rank(*run, 2, 0).empty());
}

TEST_CASE("slices: a search, a step and a colour mean microbatches, the name of an op its cell") {
  const ViewedRunPtr run =
      viewed(read_scenario(std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json",
                           {"/schedule/name=seq-1f1b", "/schedule/slices=4"}));
  const RunLanes lanes = lanes_of_run(run->plan, run->timeline);
  const auto found = [&](const char* text) { return find_ops(read_query(text), *run); };
  const auto fourth = found("mb:7 stage:1 kind:B");
  REQUIRE(fourth.size() == 4);
  const Colouring colours(*run, ColourBy::microbatch);
  for (const TaskId task : fourth) {
    CHECK(microbatch_of(*run, task) == 7);
    CHECK(microbatch_text(*run, task).starts_with("microbatch 7, slice "));
    CHECK(colours.category(task) == colours.category(fourth.front()));
  }
  const TaskId named = found("1B7").at(0);
  CHECK(microbatch_text(*run, named) == "microbatch 1, slice 3");
  const OpSteps steps{*run, lanes};
  CHECK(microbatch_text(*run, steps.in_microbatch(named, true)) == "microbatch 2, slice 3");
  CHECK(microbatch_text(*run, steps.in_microbatch(named, false)) == "microbatch 0, slice 3");
}

TEST_CASE("search: a word that is not understood is an error that names it") {
  for (const char* text : {"stag:3", "stage:x", "dur>fast", "kind:Q", "mb:", "12", "dur>1parsec"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(read_query(text), doctest::Contains(text), InputError);
  }
}

TEST_CASE("steps: next and previous undo each other, on every op of a run") {
  const ViewedRunPtr run = example();
  const RunLanes lanes = lanes_of_run(run->plan, run->timeline);
  const OpSteps steps{*run, lanes};
  for (TaskId task = 0; task < run->plan.tasks(); ++task) {
    const TaskId next = steps.in_lane(task, true);
    if (next != no_task) CHECK(steps.in_lane(next, false) == task);
    const TaskId other = steps.in_microbatch(task, true);
    if (other != no_task) CHECK(steps.in_microbatch(other, false) == task);
  }
}

TEST_CASE("steps: the chain of causes leads back to the first op without gaps longer than waits") {
  const ViewedRunPtr run = example();
  const RunLanes lanes = lanes_of_run(run->plan, run->timeline);
  const OpSteps steps{*run, lanes};
  TaskId task = 0;
  for (TaskId t = 0; t < run->plan.tasks(); ++t) {
    if (run->timeline.end[t] > run->timeline.end[task]) task = t;
  }
  int length = 0;
  while (steps.cause(task) != no_task) {
    const TaskId cause = steps.cause(task);
    CHECK(run->timeline.end[cause] <= run->timeline.begin[task] + Time{2'000'000});
    task = cause;
    ++length;
  }
  CHECK(run->timeline.begin[task] == Time{});
  CHECK(length > 10);
}

TEST_CASE("bubbles: are whole gaps, in the order of `penstock explain`") {
  const RunResult result =
      run(read_scenario(std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json",
                        {"/hardware/latency_us=900", "/hardware/bandwidth_bytes_per_s=5e9"}));
  const Explanation explained = explain_times(result);
  const RunLanes lanes = lanes_of_run(*result.plan, result.timeline);
  const std::vector<IdlePiece> gaps = longest_gaps(lanes, 100000);
  REQUIRE(gaps.size() == explained.gaps.size());
  bool several = false;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    CHECK(gaps[i].rank == index(explained.gaps[i].rank));
    CHECK(gaps[i].begin == explained.gaps[i].begin.picoseconds);
    CHECK(gaps[i].end == explained.gaps[i].end.picoseconds);
    const Area area{gaps[i].begin, gaps[i].end, gaps[i].rank, gaps[i].rank + 1};
    CHECK(idle_of(area, lanes)->end == gaps[i].end);
    several = several || gap_around(lanes, gaps[i]).size() > 1;
  }
  CHECK(several);
}

TEST_CASE("bubbles: come longest first, and all of them add up to the idle time") {
  const ViewedRunPtr run = example();
  const RunLanes lanes = lanes_of_run(run->plan, run->timeline);
  const auto pieces = longest_gaps(lanes, 100000);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) CHECK(pieces[i].end - pieces[i].begin <= pieces[i - 1].end - pieces[i - 1].begin);
    sum += pieces[i].end - pieces[i].begin;
  }
  CHECK(sum == 4 * 14'400'000'000 - 0 + (run->span().picoseconds - 38'400'000'000) * 4);
  CHECK(longest_gaps(lanes, 2).size() == 2);
}

}  // namespace
}  // namespace penstock
