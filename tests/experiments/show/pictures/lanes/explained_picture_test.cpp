#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "experiments/show/pictures/lanes/lane_cells.hpp"
#include "experiments/show/pictures/lanes/lane_frame.hpp"
#include "experiments/show/pictures/lanes/timeline_picture.hpp"
#include "experiments/show/pictures/picture.hpp"
#include "sim/base/error.hpp"
#include "sim/report/report.hpp"
#include "tests/support/pictures.hpp"

namespace penstock::testing {

TEST_CASE("the boxes of the critical path are its actions, without the transfers between them") {
  const DrawnRun two = one_f_one_b(2, 2, 1e-6, 2e-6);
  const std::vector<TaskId> path = path_of(two);
  const auto boxes = [&](std::int64_t shortest) {
    return path_boxes(two.plan, two.timeline, path, Time{shortest});
  };
  using Boxes = std::vector<PathBox>;
  CHECK(boxes(1) == Boxes{{0, Time{0}, Time{1}},
                          {1, Time{1}, Time{2}},
                          {1, Time{2}, Time{4}},
                          {1, Time{4}, Time{5}},
                          {1, Time{5}, Time{7}},
                          {0, Time{7}, Time{9}}});
  CHECK(boxes(2) == Boxes{{0, Time{0}, Time{1}}, {1, Time{1}, Time{7}}, {0, Time{7}, Time{9}}});
}

TEST_CASE("a fused cell is one box of the critical path, as long as both parts") {
  DrawnRun fused = one_fused_cell(1e-6, 2e-6);
  fused.timeline.end[1] = Time{2};  // its forward ends before its backward
  const std::vector<PathBox> boxes =
      path_boxes(fused.plan, fused.timeline, path_of(fused), Time{1});
  CHECK(boxes ==
        std::vector<PathBox>{{0, Time{0}, Time{1}}, {0, Time{1}, Time{3}}, {0, Time{3}, Time{5}}});
}

TEST_CASE("the path leaves a box at its end and enters the next at its start, edge to edge") {
  const PathStrokes strokes = path_strokes({{0, 0, 10, 6}, {12, 20, 10, 6}, {30, 0, 10, 6}});
  CHECK(strokes.outlines.size() == 3);
  REQUIRE(strokes.lines.size() == 2);
  const auto is = [](const std::vector<Point>& line, Point from, Point to) {
    return line.size() == 2 && line[0].x == from.x && line[0].y == from.y && line[1].x == to.x &&
           line[1].y == to.y;
  };
  CHECK(is(strokes.lines[0], {10, 6}, {12, 20}));
  CHECK(is(strokes.lines[1], {22, 20}, {30, 6}));
}

TEST_CASE("boxes too low for an outline are passed through along their middle") {
  const PathStrokes strokes = path_strokes({{0, 0, 10, 3}, {10, 3, 10, 3}});
  CHECK(strokes.outlines.empty());
  REQUIRE(strokes.lines.size() == 1);
  CHECK(strokes.lines[0].front().x == 0);
  CHECK(strokes.lines[0].back().x == 20);
  CHECK(strokes.lines[0].back().y == 4.5);
}

TEST_CASE("a path of narrow boxes is a line that keeps its turns, with few points") {
  std::vector<Rectangle> boxes;
  for (int i = 0; i < 100'000; ++i) {
    const int rank = i % 126 < 63 ? i % 126 : 126 - i % 126;  // up and down 64 lanes
    boxes.push_back({i * 0.01, rank * 10.0, 0.01, 8});
  }
  const PathStrokes strokes = path_strokes(boxes);
  CHECK(strokes.outlines.empty());
  REQUIRE(strokes.lines.size() == 1);
  const std::vector<Point>& line = strokes.lines[0];
  CHECK(line.size() <= 4 * (1000 / 3 + 1));
  CHECK(std::is_sorted(line.begin(), line.end(),
                       [](Point left, Point right) { return left.x < right.x; }));
  for (const double turn : {4.0, 634.0}) {
    CHECK(std::count_if(line.begin(), line.end(), [&](Point p) { return p.y == turn; }) > 300);
  }
  CHECK(line.front().x == doctest::Approx(0.005));
  CHECK(line.back().x == doctest::Approx(999.995));
}

TEST_CASE("an explained picture names the causes that occur, and the critical path") {
  const DrawnRun small = one_f_one_b(4, 8);
  TimelinePicture picture{"title", "subtitle"};
  const std::string plain = timeline_picture(PictureFormat::svg, small, picture);
  CHECK(has_text(plain, "idle"));
  CHECK_FALSE(has_text(plain, "critical path"));
  picture.explanation = explanation_of(small);
  const std::string explained = timeline_picture(PictureFormat::svg, small, picture);
  CHECK_FALSE(has_text(explained, "idle"));
  for (const char* text : {"idle:", "warm-up", "dependency", "drain", "critical path"}) {
    CAPTURE(text);
    CHECK(has_text(explained, text));
  }
  picture.explanation.gaps.clear();
  CHECK(has_text(timeline_picture(PictureFormat::svg, small, picture), "idle"));
}

TEST_CASE("an explained picture of many ranks and microbatches stays small") {
  const DrawnRun big = one_f_one_b(64, 1024);
  TimelinePicture picture;
  picture.explanation = explanation_of(big);
  for (const PictureFormat format : formats) {
    CHECK(timeline_picture(format, big, picture).size() < 2'000'000);
  }
}

TEST_CASE("the explanation of another plan is refused") {
  const DrawnRun small = one_f_one_b(2, 2);
  const TimelineExplanation other = explanation_of(one_f_one_b(4, 8));
  for (const TimelineExplanation& part :
       {TimelineExplanation{other.gaps, {}}, TimelineExplanation{{}, other.critical_path}}) {
    CHECK_THROWS_AS(timeline_picture(PictureFormat::svg, small, {.explanation = part}), InputError);
  }
}

}  // namespace penstock::testing
