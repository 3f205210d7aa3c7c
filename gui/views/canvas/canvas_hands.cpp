#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/views/canvas/canvas.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr double click_reach = 4;
constexpr double snap_reach = 9;

}  // namespace

void CanvasHands::press(const QMouseEvent& event) {
  if (canvas_.first() == nullptr) return;
  canvas_.setFocus(Qt::MouseFocusReason);
  pointer_ = drag_from_ = event.position();
  drag_view_ = canvas_.view();
  dragged_ = false;
  start_drag(event);
}

void CanvasHands::start_drag(const QMouseEvent& event) {
  const QPointF at = event.position();
  const bool left = event.button() == Qt::LeftButton;
  const auto boundary = canvas_.boundary_at(at);
  if (at.x() < gutter && at.y() < header) {
    if (canvas_.on_corner) canvas_.on_corner();
  } else if (canvas_.overview_place().contains(at)) {
    drag_ = Drag::overview;
    move_overview(at.y());
  } else if (at.y() < map_height) {
    drag_ = Drag::map;
    move_map(at.x());
  } else if (event.button() == Qt::MiddleButton ||
             (left && event.modifiers() & Qt::ShiftModifier)) {
    drag_ = Drag::pan;
    canvas_.setCursor(Qt::ClosedHandCursor);
  } else if (left && boundary && canvas_.on_boundary) {
    drag_ = Drag::boundary;
    boundary_ = *boundary;
  } else if (left && is_movable(canvas_.task_at(at)) && canvas_.on_grab) {
    drag_ = Drag::op;
  } else if (left && at.x() >= gutter) {
    drag_ = Drag::area;
  }
}

void CanvasHands::move(const QMouseEvent& event) {
  pointer_ = event.position();
  stays_ = false;
  if (canvas_.first() == nullptr) return;
  const QPointF way = event.position() - drag_from_;
  if (!dragged_ && way.manhattanLength() > click_reach) {
    dragged_ = true;
    if (drag_ == Drag::op) canvas_.on_grab();
  }
  const bool drags = drag_to(event);
  if (!drags) set_cursor(event.position());
  canvas_.point_at(event.position(), drags);
}

/// Whether something is dragged.
bool CanvasHands::drag_to(const QMouseEvent& event) {
  const QPointF way = event.position() - drag_from_;
  if (drag_ == Drag::map) {
    move_map(event.position().x());
  } else if (drag_ == Drag::overview) {
    move_overview(event.position().y());
  } else if (drag_ == Drag::pan) {
    CanvasView next = drag_view_;
    next.axis = panned(next.axis, -way.x(), canvas_.span(), canvas_.lanes_width());
    next.top = canvas_.clamped_top(next.top - way.y());
    canvas_.move_to(next, ViewMove::pan);
  } else if (drag_ == Drag::area && dragged_) {
    drag_area(event.position(), !(event.modifiers() & Qt::AltModifier));
  } else {
    return carry(event.position(), false);
  }
  return true;
}

/// Whether an op or a boundary is dragged.
bool CanvasHands::carry(QPointF to, bool released) {
  if (!dragged_ || (drag_ != Drag::op && drag_ != Drag::boundary)) return false;
  if (drag_ == Drag::op) {
    canvas_.on_carry(canvas_.view().axis.time_at(to.x() - gutter), released);
  } else {
    const double layers = (to.y() - drag_from_.y()) / TimelineCanvas::pixels_per_layer;
    canvas_.on_boundary(boundary_, static_cast<int>(std::lround(layers)), released);
  }
  canvas_.update();
  return true;
}

void CanvasHands::set_cursor(QPointF point) {
  if (drag_ != Drag::none) return;
  canvas_.setCursor(canvas_.boundary_at(point)           ? Qt::SplitVCursor
                    : is_movable(canvas_.task_at(point)) ? Qt::SizeHorCursor
                                                         : Qt::ArrowCursor);
}

/// The time at a position, or the edge of an op of some ranks that is near.
std::int64_t CanvasHands::edge_near(double x, const Area& ranks) const {
  const TimeAxis& axis = canvas_.view().axis;
  const std::int64_t time = axis.time_at(x - gutter);
  const auto reach = static_cast<std::int64_t>(snap_reach * axis.picoseconds_per_pixel);
  const RunLanes& lanes = *canvas_.run(ranks.run).lanes;
  return nearest_edge(lanes, ranks.first_rank, ranks.end_rank, time, reach).value_or(time);
}

std::optional<std::int64_t> CanvasHands::time_at_pointer() const {
  if (!canvas_.rect().contains(pointer_.toPoint()) || pointer_.x() < gutter) return std::nullopt;
  const LaneRow* const row = canvas_.strip_at(pointer_);
  if (row == nullptr) return canvas_.view().axis.time_at(pointer_.x() - gutter);
  const std::uint32_t rank = canvas_.rank_at(pointer_.y());
  return edge_near(pointer_.x(), {0, 0, rank, rank + 1, canvas_.run_of(*row)});
}

/// Whether a drag would move an op: the others are of runs that do not change.
bool CanvasHands::is_movable(const ShownOp& op) const {
  return !op.is_none() && op == canvas_.selected() && op.run == 0;
}

void CanvasHands::drag_area(QPointF to, bool snap) {
  const LaneRow* const from = canvas_.row_at(drag_from_.y());
  const std::uint8_t of = from == nullptr ? 0 : canvas_.run_of(*from);
  // A drag along the ruler is one over all ranks.
  Area area = canvas_.ranks_between(drag_from_.y(), to.y());
  area.run = of;
  const auto edge = [&](double x) {
    const std::int64_t time = snap ? edge_near(x, area) : canvas_.view().axis.time_at(x - gutter);
    return std::clamp<std::int64_t>(time, 0, canvas_.run(of).lanes->span);
  };
  area.begin = edge(std::min(drag_from_.x(), to.x()));
  area.end = edge(std::max(drag_from_.x(), to.x()));
  canvas_.set_area(area);
}

void CanvasHands::release(const QMouseEvent& event) {
  if (drag_ == Drag::area && !dragged_) canvas_.select_at(event.position());
  carry(event.position(), true);
  drag_ = Drag::none;
  canvas_.unsetCursor();
  canvas_.update();
}

void CanvasHands::click_twice(const QMouseEvent& event) {
  if (canvas_.first() == nullptr || event.position().y() < header) return;
  if (event.position().x() < gutter) {
    return canvas_.toggle_pin(canvas_.rank_at(event.position().y()));
  }
  if (canvas_.overview_place().contains(event.position())) return;
  const ShownOp op = canvas_.task_at(event.position());
  if (!op.is_none()) {
    const Timeline& timeline = canvas_.run(op.run).run->timeline;
    const std::int64_t begin = timeline.begin[op.task].picoseconds;
    const std::int64_t end = timeline.end[op.task].picoseconds;
    const double pixel = canvas_.view().axis.picoseconds_per_pixel;
    if (static_cast<double>(end - begin) > 3 * pixel) return canvas_.fit_stretch(begin, end);
  }
  for (const auto& piece :
       {canvas_.idle_at(event.position()), canvas_.memory_at(event.position())}) {
    if (piece) return canvas_.fit_stretch(piece->begin, piece->end);
  }
  canvas_.zoom_at(event.position().x() - gutter, 1.0 / 16);
}

void CanvasHands::move_map(double x) {
  const double share = (x - gutter) / canvas_.lanes_width();
  CanvasView next = canvas_.view();
  const auto middle = static_cast<std::int64_t>(share * static_cast<double>(canvas_.span()));
  next.axis.origin = middle - static_cast<std::int64_t>(canvas_.lanes_width() / 2 *
                                                        next.axis.picoseconds_per_pixel);
  next.axis = panned(next.axis, 0, canvas_.span(), canvas_.lanes_width());
  canvas_.move_to(next, ViewMove::pan);
}

void CanvasHands::move_overview(double y) {
  const double room = canvas_.height() - header;
  const double share = (y - header) / room;
  CanvasView next = canvas_.view();
  next.top = canvas_.clamped_top(share * canvas_.content_height() - room / 2);
  canvas_.move_to(next, ViewMove::scroll);
}

/// Where a dragged op would stand, or a boundary.
void CanvasHands::paint_drag(QPainter& painter) {
  painter.setPen(QPen(qt_colour(canvas_.colours().accent), 2));
  if (drag_ == Drag::op && !canvas_.selected().is_none()) {
    const QRectF strip = canvas_.place_of_task(canvas_.selected());
    painter.drawLine(QPointF(pointer_.x(), strip.top() - 3),
                     QPointF(pointer_.x(), strip.bottom() + 3));
  } else if (drag_ == Drag::boundary) {
    painter.drawLine(QPointF(0, pointer_.y()), QPointF(gutter, pointer_.y()));
  }
}

}  // namespace penstock
