#include <QMouseEvent>
#include <QNativeGestureEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/views/canvas/canvas.hpp"

namespace penstock {
namespace {

constexpr double click_reach = 4;
constexpr double snap_reach = 9;

}  // namespace

void TimelineCanvas::resizeEvent(QResizeEvent* event) {
  if (first_ != nullptr && event->oldSize().width() > gutter) {
    // The same stretch of time on the new width.
    const double before = std::max(1, event->oldSize().width() - gutter);
    history_.change_all([&](CanvasView& seen) {
      seen.axis.picoseconds_per_pixel =
          std::max(1.0, seen.axis.picoseconds_per_pixel * before / lanes_width());
    });
  }
  QWidget::resizeEvent(event);
}

void TimelineCanvas::wheelEvent(QWheelEvent* event) {
  const QPoint turn = event->angleDelta();
  const double steps = (turn.y() != 0 ? turn.y() : turn.x()) / 120.0;
  const bool scrolls = content_height() > height() - header;
  if (event->modifiers() & Qt::ShiftModifier || turn.x() != 0) {
    pan(-0.1 * steps);
  } else if (event->modifiers() & Qt::AltModifier) {
    scale_lanes(std::pow(1.15, steps));
  } else if (event->modifiers() & Qt::ControlModifier || !scrolls) {
    zoom_at(event->position().x() - gutter, std::pow(1.25, -steps));
  } else {
    scroll(-60 * steps);
  }
  event->accept();
}

bool TimelineCanvas::event(QEvent* event) {
  if (event->type() == QEvent::NativeGesture) {
    const auto* gesture = static_cast<QNativeGestureEvent*>(event);
    if (gesture->gestureType() == Qt::ZoomNativeGesture) {
      zoom_at(gesture->position().x() - gutter, std::exp(-gesture->value()));
      return true;
    }
  }
  return QWidget::event(event);
}

void TimelineCanvas::mousePressEvent(QMouseEvent* event) {
  if (first_ == nullptr) return;
  setFocus(Qt::MouseFocusReason);
  pointer_ = drag_from_ = event->position();
  drag_view_ = view();
  dragged_ = false;
  start_drag(*event);
}

void TimelineCanvas::start_drag(const QMouseEvent& event) {
  const QPointF at = event.position();
  const bool left = event.button() == Qt::LeftButton;
  const auto boundary = boundary_at(at);
  if (at.y() < map_height) {
    drag_ = Drag::map;
    move_map(at.x());
  } else if (event.button() == Qt::MiddleButton ||
             (left && event.modifiers() & Qt::ShiftModifier)) {
    drag_ = Drag::pan;
    setCursor(Qt::ClosedHandCursor);
  } else if (left && boundary && on_boundary) {
    drag_ = Drag::boundary;
    boundary_ = *boundary;
  } else if (left && is_movable(task_at(at)) && on_grab) {
    drag_ = Drag::op;
  } else if (left && at.x() >= gutter) {
    drag_ = Drag::area;
  }
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event) {
  pointer_ = event->position();
  if (first_ == nullptr) return;
  const QPointF way = event->position() - drag_from_;
  if (!dragged_ && way.manhattanLength() > click_reach) {
    dragged_ = true;
    if (drag_ == Drag::op) on_grab();
  }
  if (!drag_to(*event)) point_at(event->position());
  if (on_hover) on_hover(text_at(event->position()));
}

/// Whether something is dragged.
bool TimelineCanvas::drag_to(const QMouseEvent& event) {
  const QPointF way = event.position() - drag_from_;
  if (drag_ == Drag::map) {
    move_map(event.position().x());
  } else if (drag_ == Drag::pan) {
    CanvasView next = drag_view_;
    next.axis = panned(next.axis, -way.x(), span(), lanes_width());
    next.top = clamped_top(next.top - way.y());
    move_to(next, ViewMove::pan);
  } else if (drag_ == Drag::area && dragged_) {
    drag_area(event.position(), !(event.modifiers() & Qt::AltModifier));
  } else if (drag_ == Drag::op && dragged_) {
    on_carry(view().axis.time_at(event.position().x() - gutter), false);
    update();
  } else if (drag_ == Drag::boundary && dragged_) {
    on_boundary(boundary_, static_cast<int>(std::lround(way.y() / pixels_per_layer)), false);
    update();
  } else {
    return false;
  }
  return true;
}

void TimelineCanvas::point_at(QPointF point) {
  const ShownOp op = task_at(point);
  if (drag_ == Drag::none) {
    setCursor(boundary_at(point) ? Qt::SplitVCursor
              : is_movable(op)   ? Qt::SizeHorCursor
                                 : Qt::ArrowCursor);
  }
  if (op == hovered_) return;
  update(reach_of(hovered_));
  hovered_ = op;
  update(reach_of(hovered_));
}

/// Whether a drag would move an op: the others are of runs that do not change.
bool TimelineCanvas::is_movable(const ShownOp& op) const {
  return !op.is_none() && op == selected_ && op.run == 0;
}

void TimelineCanvas::drag_area(QPointF to, bool snap) {
  const LaneRow* const from = row_at(drag_from_.y());
  const std::uint8_t of = from == nullptr ? 0 : run_of(*from);
  const RunLanes& lanes = *run(of).lanes;
  const std::uint32_t one = rank_at(drag_from_.y());
  const std::uint32_t other = rank_at(to.y());
  Area area{.first_rank = std::min(one, other), .end_rank = std::max(one, other) + 1, .run = of};
  const auto reach = static_cast<std::int64_t>(snap_reach * view().axis.picoseconds_per_pixel);
  const auto edge = [&](double x) {
    const std::int64_t time = view().axis.time_at(x - gutter);
    const auto near = nearest_edge(lanes, area.first_rank, area.end_rank, time, reach);
    return snap && near ? *near : std::clamp<std::int64_t>(time, 0, lanes.span);
  };
  area.begin = edge(std::min(drag_from_.x(), to.x()));
  area.end = edge(std::max(drag_from_.x(), to.x()));
  set_area(area);
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (drag_ == Drag::area && !dragged_) {
    select(task_at(event->position()), false);
    if (selected_.is_none()) set_area(std::nullopt);
  }
  if (drag_ == Drag::op && dragged_) {
    on_carry(view().axis.time_at(event->position().x() - gutter), true);
  }
  if (drag_ == Drag::boundary && dragged_) {
    const double way = event->position().y() - drag_from_.y();
    on_boundary(boundary_, static_cast<int>(std::lround(way / pixels_per_layer)), true);
  }
  drag_ = Drag::none;
  unsetCursor();
  update();
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (first_ == nullptr || event->position().x() < gutter) return;
  const ShownOp op = task_at(event->position());
  if (!op.is_none()) {
    const Timeline& timeline = run(op.run).run->timeline;
    const std::int64_t begin = timeline.begin[op.task].picoseconds;
    const std::int64_t end = timeline.end[op.task].picoseconds;
    const double pixel = view().axis.picoseconds_per_pixel;
    if (static_cast<double>(end - begin) > 3 * pixel) return fit_stretch(begin, end);
  }
  zoom_at(event->position().x() - gutter, 1.0 / 16);
}

void TimelineCanvas::leaveEvent(QEvent* event) {
  pointer_ = {-1, -1};
  hovered_ = {};
  if (on_hover) on_hover({});
  update();
  QWidget::leaveEvent(event);
}

void TimelineCanvas::move_map(double x) {
  const double share = (x - gutter) / lanes_width();
  CanvasView next = view();
  const auto middle = static_cast<std::int64_t>(share * static_cast<double>(first_->lanes->span));
  next.axis.origin =
      middle - static_cast<std::int64_t>(lanes_width() / 2 * next.axis.picoseconds_per_pixel);
  next.axis = panned(next.axis, 0, first_->lanes->span, lanes_width());
  move_to(next, ViewMove::pan);
}

}  // namespace penstock
