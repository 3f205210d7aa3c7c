#include "gui/models/drawing/lane_painter.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "experiments/show/pictures/palette.hpp"
#include "gui/models/drawing/lane_rows.hpp"
#include "gui/models/drawing/painted_run.hpp"
#include "gui/models/run/run_pair.hpp"
#include "gui/models/run/viewed_run.hpp"

namespace penstock {
namespace {

/// A picture of a run without labels, one strip of 20 pixels a rank.
struct DrawnLanes {
  DrawnLanes(const PaintedRunPtr& the_run, int the_width, const TimeAxis& the_axis,
             LaneChoice choice = {.transfers = false})
      : width(the_width), axis(the_axis) {
    choice.ranks = static_cast<std::uint32_t>(the_run->lanes->ranks.size());
    rows = lane_rows(choice, 20);
    height = height_of(rows);
    memory.resize(static_cast<std::size_t>(width * height));
    scene.runs = {the_run.get()};
    scene.rows = rows;
    scene.axis = axis;
    scene.theme = &theme(ThemeName::light);
    draw();
  }
  void draw() {
    const auto stride = static_cast<std::size_t>(width);
    counts = painter.draw(scene, {memory.data(), width, height, stride});
  }
  std::uint32_t at(int x, int y) const { return memory[static_cast<std::size_t>(y * width + x)]; }

  int width, height = 0;
  TimeAxis axis;
  std::vector<LaneRow> rows;
  std::vector<std::uint32_t> memory;
  LaneScene scene;
  LanePainter painter;
  PaintCounts counts;
};

ViewedRunPtr run_with(std::vector<std::string> settings) {
  return viewed(read_scenario(std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json",
                              settings));
}

TEST_CASE("painter: the middle of every op has its colour, and idle time has another") {
  const PaintedRunPtr run = painted(run_with({}), ColourBy::pass);
  const DrawnLanes drawn(run, 1600, axis_for(0, run->lanes->span, 1600));
  const Timeline& timeline = run->run->timeline;
  std::set<std::uint32_t> op_colours;
  for (TaskId task = 0; task < run->run->plan.tasks(); ++task) {
    const WorkClass& work = run->run->plan.class_of(task);
    if (run->run->plan.is_link(work.resource)) continue;
    const auto middle = (timeline.begin[task].picoseconds + timeline.end[task].picoseconds) / 2;
    const int x = static_cast<int>(drawn.axis.x_of(middle));
    const LaneRow& row = drawn.rows[work.resource];
    CHECK(drawn.at(x, row.top + row.height / 2) == packed(run->colouring.colour(task)));
    op_colours.insert(packed(run->colouring.colour(task)));
  }
  const int after = static_cast<int>(drawn.axis.x_of(38'000'000'000));
  CHECK(!op_colours.contains(drawn.at(after, drawn.rows[3].top + 10)));
}

TEST_CASE("painter: an op of 1 ns in a run of seconds still tints a pixel") {
  ViewedRun run = *run_with({"/schedule/microbatches=1"});
  for (TaskId task = 0; task < run.plan.tasks(); ++task) {
    run.timeline.begin[task] = Time{1'000'000'000'000LL * task};
    run.timeline.end[task] = run.timeline.begin[task] + Time{1000};
  }
  const PaintedRunPtr drawn_run =
      painted(std::make_shared<ViewedRun>(std::move(run)), ColourBy::pass);
  const DrawnLanes drawn(drawn_run, 800, axis_for(0, drawn_run->lanes->span, 800));
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const LaneRow& row = drawn.rows[rank];
    std::set<std::uint32_t> bottom;
    for (int x = 0; x < 800; ++x) bottom.insert(drawn.at(x, row.top + row.height - 1));
    CHECK(bottom.contains(packed(pass_colour(Pass::forward))));
    CHECK(bottom.contains(packed(pass_colour(Pass::backward))));
  }
}

TEST_CASE("painter: far zoomed out, the coloured part of each lane is its busy share") {
  const PaintedRunPtr run = painted(run_with({"/schedule/microbatches=3000"}), ColourBy::pass);
  LaneChoice choice{.transfers = false};
  const DrawnLanes drawn(run, 300, axis_for(0, run->lanes->span, 300), choice);
  const std::set<std::uint32_t> busy{packed(pass_colour(Pass::forward)),
                                     packed(pass_colour(Pass::backward))};
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const LaneRow& row = drawn.rows[rank];
    double coloured = 0;
    for (int x = 0; x < 300; ++x) {
      for (int y = 0; y < row.height; ++y)
        coloured += busy.contains(drawn.at(x, row.top + y)) ? 1 : 0;
    }
    const double share = static_cast<double>(run->run->report.ranks[rank].busy.picoseconds) /
                         static_cast<double>(run->lanes->span);
    CHECK(coloured / (300.0 * row.height) == doctest::Approx(share).epsilon(0.04));
  }
}

TEST_CASE("painter: a frame draws no more boxes than lanes times width at any zoom") {
  const PaintedRunPtr run = painted(run_with({"/schedule/microbatches=3000"}), ColourBy::pass);
  for (double zoom = 1; zoom > 1e-5; zoom /= 3) {
    const auto shown = static_cast<std::int64_t>(static_cast<double>(run->lanes->span) * zoom);
    const DrawnLanes drawn(run, 640,
                           axis_for(run->lanes->span / 3, run->lanes->span / 3 + shown, 640),
                           {.transfers = true, .receives = true});
    CHECK(drawn.counts.boxes <= drawn.counts.rows * 640);
    CHECK(drawn.counts.rows == 12);
  }
}

TEST_CASE("painter: dimmed frames keep only the bright ops in their colours") {
  const PaintedRunPtr run = painted(run_with({}), ColourBy::pass);
  DrawnLanes drawn(run, 1600, axis_for(0, run->lanes->span, 1600));
  drawn.scene.dimmed = true;
  const std::vector<TaskId> bright{0};
  drawn.scene.bright = bright;
  drawn.draw();
  const auto middle_of = [&](TaskId task) {
    const Timeline& timeline = run->run->timeline;
    return static_cast<int>(
        drawn.axis.x_of((timeline.begin[task].picoseconds + timeline.end[task].picoseconds) / 2));
  };
  CHECK(drawn.at(middle_of(0), 10) == packed(pass_colour(Pass::forward)));
  std::uint32_t coloured = 0;
  for (int x = 0; x < 1600; ++x) {
    coloured += drawn.at(x, 10) == packed(pass_colour(Pass::forward)) ? 1 : 0;
  }
  CHECK(coloured <= 45);
}

TEST_CASE("painter: the more slack an op has, the paler it is; without any it keeps its colour") {
  const PaintedRunPtr run = painted(run_with({}), ColourBy::pass);
  DrawnLanes drawn(run, 1600, axis_for(0, run->lanes->span, 1600));
  const Colour lane = theme(ThemeName::light).lane;
  int distance_before = 0;
  for (const float share : {1.0F, 0.02F, 0.005F, 0.0F}) {
    const std::vector<float> slack(run->run->plan.tasks(), share);
    drawn.scene.slack = slack;
    drawn.draw();
    const std::uint32_t pixel = drawn.at(20, 10);  // of the first op
    const int distance = std::abs(static_cast<int>(pixel >> 16 & 0xff) - lane.red);
    CHECK(distance > distance_before);
    distance_before = distance;
    if (share == 0) CHECK(pixel == packed(pass_colour(Pass::forward)));
  }
}

TEST_CASE("painter: what is pinned stays while the others scroll beneath it") {
  const PaintedRunPtr run = painted(run_with({}), ColourBy::pass);
  LaneChoice choice{.transfers = false, .pinned = {3}};
  DrawnLanes drawn(run, 400, axis_for(0, run->lanes->span, 400), choice);
  const std::vector<std::uint32_t> at_rest = drawn.memory;
  drawn.scene.kept = pinned_height(drawn.rows);
  drawn.draw();
  CHECK(drawn.memory == at_rest);
  const int second = drawn.rows[1].top;
  const int third = drawn.rows[2].top;
  drawn.scene.top = second - third;
  drawn.draw();
  const auto row_of = [&](const std::vector<std::uint32_t>& memory, int y) {
    return std::vector<std::uint32_t>(memory.begin() + y * 400, memory.begin() + (y + 1) * 400);
  };
  for (int y = 0; y < second; ++y) CHECK(row_of(drawn.memory, y) == row_of(at_rest, y));
  CHECK(row_of(drawn.memory, second + 15) == row_of(at_rest, third + 15));
}

TEST_CASE("painter: drawn one by one, many ops look as they do from bins") {
  const PaintedRunPtr run = painted(run_with({"/schedule/microbatches=1500"}), ColourBy::pass);
  PaintedRun plain = *run;
  for (RankPyramids& rank : plain.pyramids) {
    for (auto* tracks : {&rank.compute, &rank.send, &rank.receive}) {
      for (Pyramid& pyramid : *tracks) {
        pyramid = Pyramid::without_levels(pyramid.categories());
      }
    }
    rank.idle = Pyramid::without_levels(rank.idle.categories());
  }
  const TimeAxis axis = axis_for(0, run->lanes->span, 300);
  const DrawnLanes binned(run, 300, axis);
  const DrawnLanes single(std::make_shared<const PaintedRun>(std::move(plain)), 300, axis);
  const auto idle_pixels = [&](const DrawnLanes& drawn, int x) {
    int busy = 0;
    for (int y = 0; y < drawn.rows[0].height; ++y) {
      const std::uint32_t pixel = drawn.at(x, y);
      busy += pixel == packed(pass_colour(Pass::forward)) ||
              pixel == packed(pass_colour(Pass::backward));
    }
    return busy;
  };
  int apart = 0;
  for (int x = 1; x < 299; ++x) {
    apart += std::abs(idle_pixels(binned, x) - idle_pixels(single, x)) > 2 ? 1 : 0;
  }
  CHECK(apart <= 6);
}

TEST_CASE("axis: of a frozen run and a slower one, all that differs is later, wherever A stands") {
  const ViewedRunPtr quick = run_with({});
  const ViewedRunPtr slow = run_with({"/model/stages/0/forward_us=1500"});
  for (const PairAlignment alignment : {PairAlignment::start, PairAlignment::first_op}) {
    const RunsOnAxis files =
        on_one_axis(painted(quick, ColourBy::pass), {.others = {slow}, .alignment = alignment});
    const RunsOnAxis frozen = on_one_axis(
        painted(slow, ColourBy::pass), {.others = {quick}, .alignment = alignment, .frozen = true});
    CHECK(frozen.first->against_a->differences == files.others.front()->against_a->differences);
    CHECK(frozen.others.front()->against_a == nullptr);
    CHECK(frozen.pairs.front().residuals == files.pairs.front().residuals);
    CHECK(frozen.pairs.front().text == files.pairs.front().text);
    for (const double difference : frozen.first->against_a->differences) CHECK(difference >= 0);
    // Without A, nothing is held against it.
    CHECK(on_one_axis(frozen.first, {}).first->against_a == nullptr);
  }
}

TEST_CASE("hits: every op of every run is hit in the middle of its box, in each style of pair") {
  const ViewedRunPtr run = run_with({});
  const ViewedRunPtr slow = run_with({"/model/stages/0/forward_us=1500"});
  const RunsOnAxis runs = on_one_axis(painted(run, ColourBy::pass), {.others = {slow}});
  const std::vector<PaintedRunPtr> all{runs.first, runs.others.front()};
  for (const PairStyle style : {PairStyle::ghost, PairStyle::above, PairStyle::mirrored}) {
    const auto rows = lane_rows({.ranks = 4, .runs = 2, .style = style}, 30);
    for (std::uint8_t number = 0; number < 2; ++number) {
      const PaintedRun& of = *all[number];
      int hit = 0;
      for (TaskId task = 0; task < of.run->plan.tasks(); ++task) {
        const Time begin = of.run->timeline.begin[task];
        const Time end = of.run->timeline.end[task];
        const LaneRow* const row = row_of(rows, of, number, task);
        REQUIRE(row != nullptr);
        CHECK(row->run == number);
        CHECK(row->rank == rank_of_task(of.run->plan, task));
        if (end <= begin || tracks_in(*row, of)->size() != 1) continue;
        const bool stands_there = (row->kind == LaneKind::compute) !=
                                  of.run->plan.is_link(of.run->plan.class_of(task).resource);
        const auto middle = (begin.picoseconds + end.picoseconds) / 2;
        if (stands_there) CHECK(op_in(*row, of, row->height / 2.0, middle) == task);
        CHECK(op_in(*row, of, -1, middle) == no_task);
        CHECK(op_in(*row, of, row->height, middle) == no_task);
        ++hit;
      }
      CHECK(hit >= 64);
    }
  }
}

TEST_CASE(
    "painter: of stacked runs each is in its own rows, later ops orange, earlier ones violet") {
  const ViewedRunPtr run = run_with({});
  const ViewedRunPtr slow = run_with({"/model/stages/0/forward_us=1500"});
  const ViewedRunPtr quick = run_with({"/model/stages/0/forward_us=500"});
  const RunPair to_slow = pair_of(run, slow, PairAlignment::start);
  const RunPair to_quick = pair_of(run, quick, PairAlignment::start);
  const std::vector<PaintedRunPtr> runs{
      painted(run, ColourBy::pass),
      with_differences(*painted(to_slow.second, ColourBy::pass), to_slow.against_a),
      with_differences(*painted(to_quick.second, ColourBy::pass), to_quick.against_a)};
  DrawnLanes drawn(runs[0], 1600, axis_for(0, slow->span().picoseconds, 1600),
                   {.transfers = false, .runs = 3, .style = PairStyle::above});
  for (std::size_t r = 0; r < runs.size(); ++r) drawn.scene.runs[r] = runs[r].get();
  drawn.draw();
  const auto middle = [&](const ViewedRun& of, TaskId task) {
    return static_cast<int>(drawn.axis.x_of(
        (of.timeline.begin[task].picoseconds + of.timeline.end[task].picoseconds) / 2));
  };
  int seen = 0;
  for (const LaneRow& row : drawn.rows) {
    for (TaskId task = 0; task < run->plan.tasks(); ++task) {
      if (run->plan.class_of(task).resource != row.rank) continue;
      if (row.kind == LaneKind::compute) {
        const int x = middle(*runs[row.run]->run, task);
        CHECK(drawn.at(x, row.top + 10) == packed(runs[row.run]->colouring.colour(task)));
      } else {
        const Colour strong = row.run == 1 ? later_colour : earlier_colour;
        const double share = std::abs(runs[row.run]->against_a->differences[task]);
        const Colour expected = mix(theme(ThemeName::light).lane, strong, 0.25 + 0.75 * share);
        CHECK(drawn.at(middle(*run, task), row.top + 2) == packed(expected));
      }
      ++seen;
    }
  }
  CHECK(seen == 5 * 64);
}

TEST_CASE("painter: an op has as many ticks as its rank has stages before its own") {
  std::string stages = "/model/stages=[";
  for (int stage = 0; stage < 8; ++stage) {
    stages += std::string(stage == 0 ? "" : ",") + R"({"forward_us":900,"backward_us":1800})";
  }
  const PaintedRunPtr run =
      painted(run_with({"/schedule/name=interleaved-1f1b", "/parallel/chunks=2", stages + "]"}),
              ColourBy::pass);
  const Plan& plan = run->run->plan;
  const DrawnLanes drawn(run, 3000, axis_for(0, run->lanes->span, 3000));
  int seen = 0;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (plan.is_link(work.resource)) continue;
    const Timeline& timeline = run->run->timeline;
    const Colour colour = run->colouring.colour(task);
    const auto x_of = [&](Time time) {
      return static_cast<int>(std::lround(drawn.axis.x_of(time.picoseconds)));
    };
    int ticks = 0;
    bool inside = false;
    for (int x = x_of(timeline.begin[task]); x < x_of(timeline.end[task]); ++x) {
      const bool marked = drawn.at(x, drawn.rows[work.resource].top + 2) == packed(text_on(colour));
      ticks += marked && !inside ? 1 : 0;
      inside = marked;
    }
    CHECK(ticks == static_cast<int>(index(work.stage)) / 4);
    ++seen;
  }
  CHECK(seen == 128);
}

}  // namespace

}  // namespace penstock
