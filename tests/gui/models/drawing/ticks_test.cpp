#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/gui/models/drawing/drawn_lanes.hpp"

namespace penstock {
namespace {

using testing::DrawnLanes;
using testing::run_with;

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
