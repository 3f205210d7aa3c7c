#include "experiments/show/pictures/lanes/lane_frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "experiments/show/pictures/page.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double lane_axis_rows = 48;
constexpr double lane_label_gap = 10;  // between a lane and its name
constexpr double lane_label_pitch = 14;
constexpr double lowest_lanes = 16;  // of all lanes together
constexpr double highest_lane = 36;
constexpr double low_pitch = 12;
constexpr double dense_pitch = 6;

/// The height of the lanes if nothing limits it.
double usual_room(double ranks) {
  return std::min({std::max(720.0, 3 * ranks), highest_lane * ranks, 8000.0});
}

/// The pitch on a narrow page, which is not to become a strip: lanes together are at most a quarter
/// higher than wide, unless they would be too low to read.
double pitch_for_width(double pitch, std::uint32_t ranks, double width) {
  constexpr double most_aspect = 1.25;
  constexpr double readable = 3;
  const double most = std::floor(2 * most_aspect * width / std::max(ranks, 1U)) / 2;
  return std::min(pitch, std::max(most, readable));
}

std::string rank_name(std::size_t rank) { return fmt::format("rank {}", rank); }

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

LaneSpacing lane_spacing(std::uint32_t ranks, double room) {
  const double count = std::max(ranks, 1U);
  if (room <= 0) room = usual_room(count);
  const auto stride = static_cast<std::uint32_t>(std::ceil(count / room - 1e-9));
  const double shown = std::ceil(count / std::max(stride, 1U));
  return {std::floor(2 * room / shown + 1e-9) / 2, std::max(stride, 1U)};
}

Scale lane_time(Page& page, std::uint32_t ranks, Time end, double right_room) {
  const std::string longest = rank_name(std::max(ranks, 1U) - 1);
  const double left =
      margin_of(page) + page.canvas.text_width(longest, label_style) + lane_label_gap;
  const auto last = static_cast<double>(std::max(end.picoseconds, std::int64_t{1}));
  return {0, last, page.snapped(left), page.width - margin_of(page) - right_room};
}

LaneFrame::LaneFrame(Page& page, std::uint32_t ranks, Time end, double top, double right_room)
    : page_(page),
      end_(end),
      top_(page.snapped(top)),
      time_(lane_time(page, ranks, end, right_room)) {
  if (page.height > 0) check_height(page, top_ + lane_axis_rows + lowest_lanes);
  const double room = page.height > 0 ? page.height - top_ - lane_axis_rows : 0;
  // Rounds to half units of the file.
  spacing_ = lane_spacing(ranks, room * page.scale);
  if (page.height == 0) spacing_.pitch *= page.scale;
  spacing_.pitch = std::floor(2 * spacing_.pitch) / 2 / page.scale;
  if (page.height == 0) spacing_.pitch = pitch_for_width(spacing_.pitch, ranks, page.width);
  for (std::size_t rank = 0; rank < ranks; rank += spacing_.stride) ranks_.push_back(rank);
  const double gap = is_dense() ? 0 : std::clamp(0.15 * spacing_.pitch, 0.5, 5.0);
  lane_height_ = page.snapped(spacing_.pitch - gap);
  if (page.height == 0) {
    page.height = top_ + spacing_.pitch * static_cast<double>(ranks_.size()) + lane_axis_rows;
  }
}

double LaneFrame::lane_top(std::size_t shown) const {
  return page_.snapped(top_ + static_cast<double>(shown) * spacing_.pitch);
}

bool LaneFrame::is_low() const { return spacing_.pitch < low_pitch; }

bool LaneFrame::is_dense() const { return spacing_.pitch < dense_pitch; }

std::uint32_t LaneFrame::name_step() const {
  return lanes_per_label(spacing_.pitch, lane_label_pitch);
}

void LaneFrame::draw_names() const {
  for (std::size_t shown = 0; shown < ranks_.size(); shown += name_step()) {
    page_.canvas.text({time_.from - lane_label_gap, lane_top(shown) + lane_height_ / 2},
                      rank_name(ranks_[shown]), aligned(label_style, Align::right));
  }
}

void LaneFrame::draw_axis() const {
  const double y = lane_top(ranks_.size()) + 3;
  const TimeUnit name = unit_for(end_);
  const auto unit = static_cast<double>(name.picoseconds);
  page_.canvas.line({time_.from, y}, {time_.to, y}, 1, axis_line);
  for (const Tick& tick : fitting_ticks(page_.canvas, static_cast<double>(end_.picoseconds) / unit,
                                        time_.to - time_.from)) {
    const double x = page_.snapped(time_(tick.at * unit));
    page_.canvas.line({x, y}, {x, y + 5}, 1, axis_line);
    page_.canvas.text({x, y + 14}, tick.text, aligned(tick_style, Align::centre));
  }
  std::string label = fmt::format("time ({})", name.name);
  if (spacing_.stride > 1) label += fmt::format("; one rank in {} is shown", spacing_.stride);
  page_.canvas.text_within(inner_width(page_), {page_.width / 2, y + 31}, label,
                           aligned(tick_style, Align::centre));
}

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
