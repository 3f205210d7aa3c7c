#pragma once

#include <cstdint>
#include <vector>

#include "experiments/show/pictures/canvas.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// A span of the critical path on one rank.
struct PathBox {
  std::uint32_t rank;
  Time begin;
  Time end;
  friend bool operator==(const PathBox&, const PathBox&) = default;
};

/// The actions of a critical path, first to last, without transfers and zero-length actions.
/// Actions shorter than `shortest` merge with their neighbours on the same rank. Throws InputError
/// for the path of another plan.
std::vector<PathBox> path_boxes(const Plan& plan, const Timeline& timeline,
                                const std::vector<TaskId>& path, Time shortest);

/// A critical path as drawn: outlines around boxes that are large enough, and lines through the
/// others and between boxes.
struct PathStrokes {
  std::vector<Rectangle> outlines;
  std::vector<std::vector<Point>> lines;
};

/// The strokes of a path through `boxes`, from left to right. Lines through narrow boxes drop
/// invisible points, so the number of points depends only on the width of the picture.
PathStrokes path_strokes(const std::vector<Rectangle>& boxes);

}  // namespace penstock
