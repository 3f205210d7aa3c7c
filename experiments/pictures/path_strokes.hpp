#pragma once

#include <vector>

#include "experiments/pictures/marks.hpp"

namespace penstock {

/// A critical path as it is drawn: outlines around the boxes that are large enough, and lines
/// through the others and from box to box.
struct PathStrokes {
  std::vector<Rectangle> outlines;
  std::vector<std::vector<Point>> lines;
};

/// The strokes of a path through `boxes`, from left to right. Where boxes are narrow the lines
/// leave out what cannot be seen, so that the number of points depends on the width of the picture
/// alone.
PathStrokes path_strokes(const std::vector<Rectangle>& boxes);

}  // namespace penstock
