#include <QPaintEvent>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "experiments/show/pictures/palette.hpp"
#include "gui/views/canvas/canvas.hpp"
#include "gui/views/canvas/canvas_drawing.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
void TimelineCanvas::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  painter.setClipRegion(event->region());
  if (first_ == nullptr) return paint_empty(painter);
  want_frame();
  paint_frame(painter);
  paint_overlay(painter);
  paint_marks(painter);
  paint_chrome(painter);
  if (dragged_) paint_drag(painter);
  if (hasFocus()) {
    painter.setPen(qt_colour(theme(theme_).accent));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

void TimelineCanvas::paint_empty(QPainter& painter) {
  painter.fillRect(rect(), qt_colour(theme(theme_).ground));
  painter.setPen(qt_colour(theme(theme_).ink));
  painter.drawText(rect().adjusted(8, 8, -8, -8), Qt::AlignCenter | Qt::TextWordWrap,
                   "Open a file with Ctrl+O, or drop it here:\n"
                   "a scenario (.json), a timeline (.timeline),\n"
                   "an order (.csv), results of a sweep (.jsonl),\n"
                   "or traces of the PyTorch profiler (.json, .json.gz).\n\n"
                   "Ctrl+Shift+E opens an example.");
}

void TimelineCanvas::paint_frame(QPainter& painter) {
  const QRectF target(gutter, header, lanes_width(), std::max(1, height() - header));
  if (fits_now(*frame_)) {
    painter.drawImage(target, frame_->image);
    return;
  }
  painter.fillRect(target, qt_colour(theme(theme_).ground));
  const TimeAxis& then = frame_->view.axis;
  const double wide = frame_->image.width() / frame_->ratio;
  const double left = view().axis.x_of(then.origin);
  const double right = view().axis.x_of(then.time_at(wide));
  const double high = frame_->image.height() / frame_->ratio;
  const auto put = [&](const QRectF& room, double up) {
    painter.save();
    painter.setClipRect(room);
    painter.drawImage(QRectF(gutter + left, header + up, right - left, high), frame_->image);
    painter.restore();
  };
  put(room_of(false), frame_->view.top - view().top);
  if (kept_height() > 0) put(room_of(true), 0);
}

void TimelineCanvas::paint_overlay(QPainter& painter) {
  const Theme& colours = theme(theme_);
  painter.save();
  painter.setClipRect(QRect(gutter, header, width() - gutter, height() - header));
  if (kept_height() > 0) {
    painter.setPen(qt_colour(colours.grid));
    const double end = header + kept_height() - 1;
    painter.drawLine(QPointF(gutter, end), QPointF(width(), end));
  }
  if (area_) paint_area(painter);
  if (!path_.empty()) paint_path(painter);
  const auto frame = [&](const ShownOp& op, const QPen& pen) {
    const QRectF place = place_of_task(op);
    if (place.isNull()) return;
    const std::uint32_t rank = rank_of_task(run(op.run).run->plan, op.task);
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    painter.save();
    painter.setClipRect(room_of(is_pinned(rank)), Qt::IntersectClip);
    painter.drawRect(place.adjusted(0, 0, -1, -1));
    painter.restore();
    paint_arrows(painter, op);
  };
  if (hovered_ != selected_) frame(hovered_, {qt_colour(colours.ink), 1});
  frame(selected_, {qt_colour(colours.accent), 2});
  painter.restore();
}

/// Where a dragged op would stand, or a boundary.
void TimelineCanvas::paint_drag(QPainter& painter) {
  painter.setPen(QPen(qt_colour(theme(theme_).accent), 2));
  if (drag_ == Drag::op && !selected_.is_none()) {
    const QRectF strip = place_of_task(selected_);
    painter.drawLine(QPointF(pointer_.x(), strip.top() - 3),
                     QPointF(pointer_.x(), strip.bottom() + 3));
  } else if (drag_ == Drag::boundary) {
    painter.drawLine(QPointF(0, pointer_.y()), QPointF(gutter, pointer_.y()));
  }
}

void TimelineCanvas::paint_area(QPainter& painter) {
  const Theme& colours = theme(theme_);
  const double left = gutter + view().axis.x_of(area_->begin);
  const double right = gutter + view().axis.x_of(area_->end);
  QColor shade = qt_colour(colours.accent);
  shade.setAlpha(36);
  const auto put = [&](std::uint32_t first_rank, std::uint32_t last_rank, const QRectF& room) {
    const QRectF box(QPointF(left, place_of_lane(first_rank, area_->run).top()),
                     QPointF(right, place_of_lane(last_rank, area_->run).bottom()));
    painter.fillRect(box.intersected(room), shade);
  };
  const QRectF first = place_of_lane(area_->first_rank, area_->run);
  if (choice_.pinned.empty()) {
    put(area_->first_rank, area_->end_rank - 1, room_of(false));
  } else {
    // Pinned ranks stand elsewhere.
    for (std::uint32_t rank = area_->first_rank; rank < area_->end_rank; ++rank) {
      put(rank, rank, room_of(is_pinned(rank)));
    }
  }
  painter.setPen(QPen(qt_colour(colours.accent), 1));
  painter.drawLine(QPointF(left, header), QPointF(left, height()));
  painter.drawLine(QPointF(right, header), QPointF(right, height()));
  painter.drawText(QPointF(left + 4, std::max(first.top() - 3, header + 12.0)),
                   qt_text(short_time(area_->end - area_->begin)));
}

void TimelineCanvas::paint_path(QPainter& painter) {
  const Theme& colours = theme(theme_);
  painter.setRenderHint(QPainter::Antialiasing);
  QPainterPath line;
  const QColor stroke = qt_colour(mix(colours.ink, peak_colour, 0.25));
  painter.setPen(QPen(stroke, 1.6));
  painter.setBrush(Qt::NoBrush);
  double last_x = -1e9;
  // Below the labels.
  const auto low = [](const QRectF& place) { return place.top() + place.height() * 0.85; };
  const Plan& plan = run(path_.run).run->plan;
  for (const TaskId task : path_.tasks) {
    const QRectF place = place_of_task({task, path_.run});
    if (place.isNull()) return;
    const bool is_action = !is_transfer(plan.class_of(task).pass);
    if (place.left() > width() + 5000) break;
    if (place.right() < gutter - 5000) continue;
    if (line.elementCount() == 0) line.moveTo(place.left(), low(place));
    if (place.right() - last_x >= 1) {
      line.lineTo(place.left(), low(place));
      line.lineTo(place.right(), low(place));
      last_x = place.right();
    }
    if (is_action && place.width() >= 4) {
      painter.drawRect(place.adjusted(0.8, 0.8, -0.8, -0.8));
    }
  }
  painter.drawPath(line);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void TimelineCanvas::paint_arrows(QPainter& painter, const ShownOp& op) {
  painter.setRenderHint(QPainter::Antialiasing);
  for_each_arrow(op, [&](const QPointF& start, const QPointF& end) {
    QPainterPath path(start);
    const double bend = std::max(8.0, std::abs(end.x() - start.x()) / 2);
    path.cubicTo(start + QPointF(bend, 0), end - QPointF(bend, 0), end);
    painter.drawPath(path);
    painter.drawLine(end, end + QPointF(-6, -4));
    painter.drawLine(end, end + QPointF(-6, 4));
  });
  painter.setRenderHint(QPainter::Antialiasing, false);
}

/// Calls `visit(start, end)` for the arrow of each input of a task and each of its readers.
void TimelineCanvas::for_each_arrow(
    const ShownOp& op, const std::function<void(const QPointF&, const QPointF&)>& visit) const {
  const Plan& plan = run(op.run).run->plan;
  const TaskId task = op.task;
  const auto arrow = [&](TaskId from, TaskId to) {
    const QRectF one = place_of_task({from, op.run});
    const QRectF other = place_of_task({to, op.run});
    visit({one.right(), one.center().y()}, {other.left(), other.center().y()});
  };
  plan.for_each_input(task, [&](TaskId input) { arrow(input, task); });
  const TaskId most = std::min<TaskId>(plan.tasks(), task + 20000);
  for (TaskId other = task + 1; other < most; ++other) {
    plan.for_each_input(other, [&](TaskId input) {
      if (input == task) arrow(task, other);
    });
  }
}

QRect TimelineCanvas::reach_of(const ShownOp& op) const {
  QRectF reach = place_of_task(op);
  if (reach.isNull()) return {};
  for_each_arrow(op, [&](const QPointF& start, const QPointF& end) {
    const double bend = std::abs(end.x() - start.x()) / 2;
    reach |= QRectF(start, end).normalized().adjusted(-bend, 0, bend, 0);
  });
  return reach.adjusted(-10, -6, 10, 6).toAlignedRect() & rect();
}

}  // namespace penstock
