#pragma once

#include <vector>

#include "experiments/show/pictures/marks.hpp"

namespace penstock {

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
