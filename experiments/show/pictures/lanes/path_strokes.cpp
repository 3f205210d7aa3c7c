#include "experiments/show/pictures/lanes/path_strokes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double narrowest_outline = 4;
constexpr double lowest_outline = 6;
constexpr double column = 3;  // of the picture; a line has at most four points in it

Point middle(const Rectangle& box) { return {box.x + box.width / 2, box.y + box.height / 2}; }

/// The height at which a line from or to `other` touches `box`: the facing edge.
double facing(const Rectangle& box, const Rectangle& other) {
  if (other.y > box.y) return box.y + box.height;
  return other.y < box.y ? box.y : middle(box).y;
}

/// Keeps the first, highest, lowest and last point of each column, so that the line looks the same.
std::vector<Point> thinned(const std::vector<Point>& points) {
  const auto higher = [](Point a, Point b) { return a.y < b.y; };
  std::vector<Point> kept;
  for (auto first = points.begin(); first != points.end();) {
    const auto end = std::find_if(first, points.end(),
                                  [&](Point point) { return point.x - first->x >= column; });
    auto [top, bottom] = std::minmax_element(first, end, higher);
    if (bottom < top) std::swap(top, bottom);
    auto before = end;
    for (const auto at : {first, top, bottom, end - 1}) {
      if (at != before) kept.push_back(*at);
      before = at;
    }
    first = end;
  }
  return kept;
}

/// In the path, the first part of a fused cell represents both.
Time end_of(const Plan& plan, const Timeline& timeline, TaskId task) {
  const bool fused = plan.class_of(task).partner != UINT32_MAX;
  return fused ? std::max(timeline.end[task], timeline.end[task + 1]) : timeline.end[task];
}

}  // namespace

std::vector<PathBox> path_boxes(const Plan& plan, const Timeline& timeline,
                                const std::vector<TaskId>& path, Time shortest) {
  std::vector<PathBox> boxes;
  bool short_before = false;
  for (const TaskId task : path) {
    if (task >= plan.tasks() || task >= timeline.begin.size()) {
      throw InputError(fmt::format("the critical path has task {}, and the timeline only {}", task,
                                   timeline.begin.size()));
    }
    const std::uint32_t rank = plan.class_of(task).resource;
    const PathBox box{rank, timeline.begin[task], end_of(plan, timeline, task)};
    if (plan.is_link(rank) || box.begin == box.end) continue;
    const bool is_short = box.end - box.begin < shortest;
    if ((short_before || is_short) && !boxes.empty() && boxes.back().rank == rank &&
        box.begin - boxes.back().end < shortest) {
      boxes.back().end = box.end;
    } else {
      boxes.push_back(box);
    }
    short_before = is_short;
  }
  return boxes;
}

PathStrokes path_strokes(const std::vector<Rectangle>& boxes) {
  PathStrokes strokes;
  std::vector<Point> line;
  const auto end_line = [&] {
    if (line.size() > 1) strokes.lines.push_back(thinned(line));
    line.clear();
  };
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Rectangle& box = boxes[i];
    if (box.width < narrowest_outline) {
      line.push_back(middle(box));
      continue;
    }
    if (box.height < lowest_outline) {  // an outline would cover it
      line.push_back({box.x, middle(box).y});
      line.push_back({box.x + box.width, middle(box).y});
      continue;
    }
    strokes.outlines.push_back(box);
    if (i > 0) line.push_back({box.x, facing(box, boxes[i - 1])});
    end_line();
    if (i + 1 < boxes.size()) line.push_back({box.x + box.width, facing(box, boxes[i + 1])});
  }
  end_line();
  return strokes;
}

}  // namespace penstock
