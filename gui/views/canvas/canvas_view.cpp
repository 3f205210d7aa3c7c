#include <algorithm>

#include "gui/views/canvas/canvas.hpp"

namespace penstock {

void TimelineCanvas::move_to(const CanvasView& view, ViewMove kind) {
  if (first_ == nullptr) return;
  history_.move(view, kind);
  view_changed();
}

void TimelineCanvas::view_changed() {
  update();
  if (on_view) on_view();
}

void TimelineCanvas::fit() {
  if (first_ == nullptr) return;
  move_to({axis_for(0, span(), lanes_width()), 0, 0}, ViewMove::jump);
}

std::int64_t TimelineCanvas::span() const {
  std::int64_t longest = first_->lanes->span;
  for (const PaintedRunPtr& other : others_) longest = std::max(longest, other->lanes->span);
  return longest;
}

void TimelineCanvas::fit_stretch(std::int64_t begin, std::int64_t end) {
  const std::int64_t margin = (end - begin) / 20 + 1;
  CanvasView next = view();
  // Nothing is ahead of the runs or behind them.
  const std::int64_t from = std::max(begin - margin, -margin);
  const std::int64_t until = std::min(end + margin, span() + margin);
  next.axis = axis_for(from, std::max(until, from + 1), lanes_width());
  next.axis.picoseconds_per_pixel = std::max(1.0, next.axis.picoseconds_per_pixel);
  move_to(next, ViewMove::jump);
}

void TimelineCanvas::zoom(double factor) {
  const bool inside = rect().contains(pointer_.toPoint()) && pointer_.x() > gutter;
  zoom_at(inside ? pointer_.x() - gutter : lanes_width() / 2, factor);
}

void TimelineCanvas::zoom_at(double x, double factor) {
  if (first_ == nullptr) return;
  CanvasView next = view();
  next.axis = zoomed(next.axis, x, factor, span(), lanes_width());
  move_to(next, ViewMove::zoom);
}

void TimelineCanvas::pan(double share_of_width) {
  if (first_ == nullptr) return;
  CanvasView next = view();
  next.axis = panned(next.axis, share_of_width * lanes_width(), span(), lanes_width());
  move_to(next, ViewMove::pan);
}

void TimelineCanvas::scroll(double pixels) {
  CanvasView next = view();
  next.top = clamped_top(next.top + pixels);
  move_to(next, ViewMove::scroll);
}

void TimelineCanvas::scroll_to(std::uint32_t rank) {
  const QRectF strip = strip_of(rank, LaneKind::compute);
  if (!strip.isNull()) scroll(strip.top() - header - 20);
}

void TimelineCanvas::scale_lanes(double factor) {
  CanvasView next = view();
  const double now = lane_height() / devicePixelRatioF();
  next.lane_height = std::clamp(now * factor, 9.0, 200.0);
  move_to(next, ViewMove::zoom);
  CanvasView in_range = view();
  in_range.top = clamped_top(in_range.top);
  move_to(in_range, ViewMove::zoom);
}

}  // namespace penstock
