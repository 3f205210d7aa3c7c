#include <algorithm>

#include "gui/models/drawing/lane_painter.hpp"

namespace penstock {

void LanePainter::draw_bright(const LaneRow& row, const PaintedRun& run, const Strip& strip) {
  if (row.kind == LaneKind::memory || row.kind == LaneKind::difference) return;
  const Plan& plan = run.run->plan;
  const Timeline& timeline = run.run->timeline;
  // Asked once for each class: there may be millions of bright ops.
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    row_of_class_[c] = shows(row, plan.classes[c].resource, plan) ? 1 : 0;
  }
  int drawn = -1;  // the last column that is one op
  for (const TaskId task : scene_->bright) {
    if (row_of_class_[plan.work[task]] == 0) continue;
    const double from = scene_->axis.x_of(timeline.begin[task].picoseconds);
    if (from > pixels_.width) break;
    const Time end = row.kind == LaneKind::link ? left_link_at(*run.run, task) : timeline.end[task];
    const double to = scene_->axis.x_of(end.picoseconds);
    if (to < 0) continue;
    const int left = nearest_pixel(from);
    const int right = std::max(left + 1, nearest_pixel(to));
    if (right == left + 1 && left == drawn) continue;
    drawn = left;
    const Colour colour = run.colouring.colour(task);
    pixels_.fill(left, strip.top, right, strip.top + strip.height, packed(colour));
    ++counts_.boxes;
    put_ticks({left, right, task, colour}, run, strip);
    if (scene_->glyphs != nullptr) label({left, right, task, colour}, run, strip);
  }
}

}  // namespace penstock
