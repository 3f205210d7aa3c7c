#include <algorithm>
#include <string>
#include <string_view>

#include "gui/models/drawing/lane_painter.hpp"

// Labels and hatches, as pixels or as marks of a vector picture, and the ops that stay bright.

namespace penstock {

void LanePainter::hatch(int left, int right, IdleCause cause, const Strip& strip) {
  const auto at = static_cast<std::size_t>(cause);
  const std::uint32_t ground = muted(scene_->theme->idle[at], strip);
  const std::uint32_t lines = muted(scene_->theme->idle_lines[at], strip);
  if (scene_->marks == nullptr) return lines_.hatch(left, right, ground, lines, hatch_of(cause));
  lines_.fill(left, right, ground);
  scene_->marks->hatched.push_back(
      {std::max(left, 0), kept_ + std::max(strip.top, 0), std::min(right, pixels_.width),
       kept_ + std::min(strip.top + strip.height, pixels_.height), hatch_of(cause), lines});
}

/// A ghost stands over the lower part of the strip before it.
void LanePainter::uncover(const Strip& ghost) {
  if (scene_->marks == nullptr) return;
  for (LaneMarks::Hatched& piece : scene_->marks->hatched) {
    const int top = kept_ + ghost.top;
    if (piece.top < top + ghost.height && top < piece.bottom) {
      piece.bottom = std::max(piece.top, top);
    }
  }
}

void LanePainter::label(const Label& label, const PaintedRun& run, const Strip& strip) {
  const Glyphs& glyphs = *scene_->glyphs;
  if (strip.height < glyphs.digits_height + 3) return;
  const int left = std::max(label.left, 0);
  const int right = std::min(label.right, pixels_.width);
  const Plan& plan = run.run->plan;
  LabelText text{};
  std::string_view written;
  if (plan.class_names.empty()) {
    written = label_of(label.task, run, text);
  } else {
    const std::string_view name = plan.class_names[plan.work[label.task]];
    written = name.substr(0, glyphs.fitting(name, right - left - 4));
  }
  const int width = glyphs.width_of(written);
  if (written.empty() || width + 2 > right - left) return;
  put({left + (right - left - width) / 2, strip.top + strip.height / 2}, width, written,
      text_on(label.ground));
  ++counts_.labels;
}

/// As many as fit.
void LanePainter::put_ticks(const Label& box, const PaintedRun& run, const Strip& strip) {
  const int unit = scene_->glyphs == nullptr ? 1 : (scene_->glyphs->digits_height + 3) / 8;
  const int room = (box.right - box.left - unit) / (3 * unit);
  const int ticks = std::clamp(room, 0, run.colouring.ticks(box.task));
  const int top = std::max(strip.top, 0) + unit;
  const int end = std::min(strip.top + std::min(5 * unit, strip.height), pixels_.height);
  for (int tick = 0; tick < ticks; ++tick) {
    const int x = box.left + unit + 3 * unit * tick;
    pixels_.fill(x, top, x + 2 * unit, end, muted(text_on(box.ground), strip));
  }
}

void LanePainter::put(Place at, int width, std::string_view text, Colour colour) {
  if (scene_->marks == nullptr) {
    scene_->glyphs->draw(pixels_, at.left, at.middle, text, colour);
  } else if (at.middle > 0 && at.middle < pixels_.height) {
    scene_->marks->labels.push_back({at.left, kept_ + at.middle, width, std::string(text), colour});
  }
}

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
    const Colour colour = run.colouring.colour(task, scene_->theme->kind);
    pixels_.fill(left, strip.top, right, strip.top + strip.height, packed(colour));
    ++counts_.boxes;
    put_ticks({left, right, task, colour}, run, strip);
    if (scene_->glyphs != nullptr) label({left, right, task, colour}, run, strip);
  }
}

}  // namespace penstock
