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

CanvasView TimelineCanvas::fitted(std::int64_t begin, std::int64_t end) const {
  const std::int64_t margin = (end - begin) / 20 + 1;
  CanvasView next = view();
  // Nothing is ahead of the runs or behind them.
  const std::int64_t from = std::max(begin - margin, -margin);
  const std::int64_t until = std::min(end + margin, span() + margin);
  next.axis = axis_for(from, std::max(until, from + 1), lanes_width());
  next.axis.picoseconds_per_pixel = std::max(1.0, next.axis.picoseconds_per_pixel);
  return next;
}

void TimelineCanvas::fit_stretch(std::int64_t begin, std::int64_t end) {
  move_to(fitted(begin, end), ViewMove::jump);
}

void TimelineCanvas::fit_area(const Area& area, std::int64_t around) {
  show_run(area.run);
  CanvasView next = fitted(area.begin - around, area.end + around);
  const QRectF first = place_of_lane(area.first_rank, area.run);
  const QRectF all = first | place_of_lane(area.end_rank - 1, area.run);
  const bool fits = all.height() <= room_of(false).height();
  next.top = top_showing(fits ? all : first, is_pinned(area.first_rank));
  move_to(next, ViewMove::jump);
}

/// Where lanes begin, as they do now if a strip is in sight.
double TimelineCanvas::top_showing(const QRectF& strip, bool pinned) const {
  const QRectF room = room_of(pinned);
  const bool seen = strip.top() >= room.top() - 1 && strip.bottom() <= room.bottom() + 1;
  const bool stays = pinned && kept_height() > 0;
  if (seen || stays || strip.isNull()) return view().top;
  return clamped_top(view().top + strip.center().y() - room.center().y());
}

void TimelineCanvas::show_run(std::uint8_t run) {
  const bool shown =
      std::any_of(rows().begin(), rows().end(), [&](const LaneRow& row) { return row.run == run; });
  if (shown) return;
  choice_.style = PairStyle::above;
  invalidate();
}

void TimelineCanvas::reveal(const ShownOp& op) {
  show_run(op.run);
  const QRectF place = place_of_task(op);
  const double seen =
      std::min<double>(place.right(), width()) - std::max<double>(place.left(), gutter);
  CanvasView next = view();
  if (seen < std::min(place.width(), lanes_width()) / 2) {
    const double x = place.left() - gutter;
    next.axis.origin = next.axis.time_at(x - lanes_width() / 2);
  }
  const ViewedRun& of = *run(op.run).run;
  next.top = top_showing(place, is_pinned(rank_of_task(of.plan, op.task)));
  if (!(next == view())) move_to(next, ViewMove::pan);
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
