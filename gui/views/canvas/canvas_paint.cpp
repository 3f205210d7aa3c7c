#include <QPaintEvent>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "experiments/pictures/palette.hpp"
#include "gui/views/canvas/canvas.hpp"
#include "gui/views/canvas/canvas_drawing.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr int map_height = 28;

/// The mean idle share of all ranks by cause in each of some columns over a whole run.
std::vector<std::array<float, idle_cause_count>> idle_over_time(const PaintedRun& run,
                                                                int columns) {
  std::vector<std::array<float, idle_cause_count>> shares(static_cast<std::size_t>(columns));
  const double pixel = static_cast<double>(run.lanes->span) / columns;
  const float ranks = static_cast<float>(run.pyramids.size());
  for (std::size_t r = 0; r < run.pyramids.size(); ++r) {
    const Pyramid& pyramid = run.pyramids[r].idle;
    const Track& idle = run.lanes->ranks[r].idle;
    const auto add = [&](double from, double to, std::size_t cause) {
      for (auto x = static_cast<int>(from / pixel); x < columns && x * pixel < to; ++x) {
        const double part = std::min(to, (x + 1) * pixel) - std::max(from, x * pixel);
        shares[static_cast<std::size_t>(x)][cause] += static_cast<float>(part / pixel) / ranks;
      }
    };
    if (const auto* level = pyramid.level_for(pixel)) {
      const std::size_t rows = pyramid.categories().size();
      for (std::size_t b = 0; b < level->bins; ++b) {
        const double from = static_cast<double>(level->bin) * static_cast<double>(b);
        for (std::size_t row = 0; row < rows; ++row) {
          const auto busy = static_cast<double>(level->busy[b * rows + row]);
          if (busy > 0) add(from, from + busy, pyramid.categories()[row]);
        }
      }
    } else {
      for (std::size_t i = 0; i < idle.size(); ++i) {
        add(static_cast<double>(idle.begin[i]), static_cast<double>(idle.end[i]),
            static_cast<std::size_t>(cause_of(idle.tag[i])));
      }
    }
  }
  return shares;
}

}  // namespace

void TimelineCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (first_ == nullptr) return paint_empty(painter);
  want_frame();
  paint_frame(painter);
  paint_overlay(painter);
  paint_gutter(painter);
  paint_header(painter);
  paint_map(painter);
  if (hasFocus()) {
    painter.setPen(qt_colour(theme(theme_).accent));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

void TimelineCanvas::paint_empty(QPainter& painter) {
  painter.fillRect(rect(), qt_colour(theme(theme_).ground));
  painter.setPen(qt_colour(theme(theme_).ink));
  painter.drawText(rect(), Qt::AlignCenter,
                   "Open a file with Ctrl+O, or drop it here:\n"
                   "a scenario (.json), a timeline (.timeline),\n"
                   "an order (.csv), or traces of the PyTorch profiler (.json, .json.gz).\n\n"
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
  const double up = frame_->view.top - view().top;
  painter.save();
  painter.setClipRect(target);
  painter.drawImage(
      QRectF(gutter + left, header + up, right - left, frame_->image.height() / frame_->ratio),
      frame_->image);
  painter.restore();
}

void TimelineCanvas::paint_header(QPainter& painter) {
  const Theme& colours = theme(theme_);
  painter.fillRect(QRect(0, map_height, width(), header - map_height), qt_colour(colours.panel));
  const QFontMetrics metrics(font());
  const double apart = metrics.horizontalAdvance("000.000 ms") + 16;
  painter.setClipRect(QRect(gutter, map_height, width() - gutter, height() - map_height));
  for (const RulerTick& tick : ruler_ticks(view().axis, lanes_width(), apart)) {
    const double x = gutter + tick.x;
    painter.setPen(qt_colour(colours.grid));
    painter.drawLine(QPointF(x, header - 7), QPointF(x, header));
    const QString text = qt_text(tick.text);
    const double half = metrics.horizontalAdvance(text) / 2.0;
    painter.setPen(qt_colour(colours.faint_ink));
    const double left = std::max<double>(gutter + 2, x - half);
    painter.drawText(QPointF(left, header - 10), text);
  }
  painter.setPen(qt_colour(colours.accent));
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    const double x = gutter + view().axis.x_of(marks_[i]);
    painter.drawLine(QPointF(x, map_height), QPointF(x, height()));
    painter.drawText(QPointF(x + 3, height() - 5), QString::number(i + 1));
  }
  painter.setClipping(false);
  painter.setPen(qt_colour(colours.grid));
  painter.drawLine(0, header - 1, width(), header - 1);
}

void TimelineCanvas::draw_map() {
  const Theme& colours = theme(theme_);
  const int wide = static_cast<int>(lanes_width());
  if (map_generation_ == generation_ && map_.width() == wide) return;
  map_generation_ = generation_;
  map_ = QImage(wide, map_height, QImage::Format_RGB32);
  map_.fill(qt_colour(mix(colours.panel, colours.ink, 0.35)));
  const auto shares = idle_over_time(*first_, wide);
  QPainter own(&map_);
  for (int x = 0; x < wide; ++x) {
    double y = 0;
    for (std::size_t c = 0; c < idle_cause_count; ++c) {
      const double high = shares[static_cast<std::size_t>(x)][c] * map_height;
      own.fillRect(QRectF(x, y, 1, high), qt_colour(colours.idle[c]));
      y += high;
    }
  }
}

void TimelineCanvas::paint_map(QPainter& painter) {
  const Theme& colours = theme(theme_);
  draw_map();
  painter.fillRect(QRect(0, 0, width(), map_height), qt_colour(colours.panel));
  painter.drawImage(gutter, 0, map_);
  painter.setPen(qt_colour(colours.faint_ink));
  painter.drawText(QRect(4, 0, gutter - 8, map_height), Qt::AlignVCenter | Qt::AlignLeft,
                   "idle share");
  const double span = std::max(1.0, static_cast<double>(first_->lanes->span));
  const double scale = lanes_width() / span;
  const double left = gutter + static_cast<double>(view().axis.origin) * scale;
  const double right = gutter + static_cast<double>(view().axis.time_at(lanes_width())) * scale;
  QRectF window(left, 1, std::max(3.0, right - left), map_height - 2);
  window = window.intersected(QRectF(gutter, 1, lanes_width() - 1, map_height - 2));
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(qt_colour(colours.accent), 2));
  painter.drawRect(window);
}

void TimelineCanvas::paint_gutter(QPainter& painter) {
  const Theme& colours = theme(theme_);
  painter.fillRect(QRect(0, header, gutter, height() - header), qt_colour(colours.panel));
  const double ratio = devicePixelRatioF();
  const QFontMetrics metrics(font());
  double free_from = header;
  painter.setClipRect(QRect(0, header, gutter, height() - header));
  const std::uint32_t selected_rank =
      selected_ == no_task ? UINT32_MAX : rank_at(place_of_task(selected_).center().y());
  for (const LaneRow& row : rows()) {
    if (row.ghost || row.kind == LaneKind::receive) continue;
    const double top = header + row.top / ratio - view().top;
    double middle = top + row.height / ratio / 2;
    QString text;
    if (row.kind == LaneKind::compute) {
      text = QString("rank %1").arg(row.rank);
      if (choice_.two_runs && choice_.style != PairStyle::ghost) text += row.run == 0 ? " A" : " B";
    }
    if (row.kind == LaneKind::memory) text = "memory";
    if (row.kind == LaneKind::difference) text = "B - A";
    const double needed = metrics.height() * 0.9;
    if (row.top == 0) middle = std::max(middle, header + needed / 2 - view().top);
    const bool fits = middle - needed / 2 >= free_from && middle + needed / 2 <= height();
    if (text.isEmpty() || !fits) continue;
    const bool main = row.kind == LaneKind::compute;
    if (!main && row.height / ratio < needed) continue;
    painter.setPen(qt_colour(!main                       ? colours.faint_ink
                             : row.rank == selected_rank ? colours.accent
                                                         : colours.ink));
    painter.drawText(QRectF(6, middle - needed, gutter - 12, 2 * needed),
                     Qt::AlignVCenter | (main ? Qt::AlignLeft : Qt::AlignRight), text);
    free_from = middle + needed / 2;
  }
  painter.setClipping(false);
}

void TimelineCanvas::paint_overlay(QPainter& painter) {
  const Theme& colours = theme(theme_);
  painter.save();
  painter.setClipRect(QRect(gutter, header, width() - gutter, height() - header));
  if (area_) paint_area(painter);
  if (!path_.empty()) paint_path(painter);
  const auto frame = [&](TaskId task, const QPen& pen) {
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(place_of_task(task).adjusted(0, 0, -1, -1));
    paint_arrows(painter, task);
  };
  if (hovered_ != no_task && hovered_ != selected_) frame(hovered_, {qt_colour(colours.ink), 1});
  if (selected_ != no_task) frame(selected_, {qt_colour(colours.accent), 2});
  painter.restore();
}

void TimelineCanvas::paint_area(QPainter& painter) {
  const Theme& colours = theme(theme_);
  const QRectF first = strip_of(area_->first_rank, LaneKind::compute);
  const QRectF last = strip_of(area_->end_rank - 1, LaneKind::compute);
  const double left = gutter + view().axis.x_of(area_->begin);
  const double right = gutter + view().axis.x_of(area_->end);
  const QRectF box(QPointF(left, first.top()), QPointF(right, last.bottom()));
  QColor shade = qt_colour(colours.accent);
  shade.setAlpha(36);
  painter.fillRect(box, shade);
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
  for (const TaskId task : path_) {
    const QRectF place = place_of_task(task);
    const bool is_action = !is_transfer(first_->run->plan.class_of(task).pass);
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

void TimelineCanvas::paint_arrows(QPainter& painter, TaskId task) {
  const Plan& plan = first_->run->plan;
  painter.setRenderHint(QPainter::Antialiasing);
  const auto arrow = [&](TaskId from, TaskId to) {
    const QRectF one = place_of_task(from);
    const QRectF other = place_of_task(to);
    const QPointF start(one.right(), one.center().y());
    const QPointF end(other.left(), other.center().y());
    QPainterPath path(start);
    const double bend = std::max(8.0, std::abs(end.x() - start.x()) / 2);
    path.cubicTo(start + QPointF(bend, 0), end - QPointF(bend, 0), end);
    painter.drawPath(path);
    painter.drawLine(end, end + QPointF(-6, -4));
    painter.drawLine(end, end + QPointF(-6, 4));
  };
  plan.for_each_input(task, [&](TaskId input) { arrow(input, task); });
  const TaskId most = std::min<TaskId>(plan.tasks(), task + 20000);
  for (TaskId other = task + 1; other < most; ++other) {
    plan.for_each_input(other, [&](TaskId input) {
      if (input == task) arrow(task, other);
    });
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

}  // namespace penstock
