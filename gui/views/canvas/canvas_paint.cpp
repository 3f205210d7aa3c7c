#include "gui/views/canvas/canvas_paint.hpp"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <functional>

#include "experiments/show/pictures/palette.hpp"
#include "gui/views/canvas/canvas_gutter.hpp"
#include "gui/views/canvas/canvas_vector.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

/// Calls `visit(start, end)` for the arrow of each input of a task and each of its readers.
void for_each_arrow(const CanvasScene& scene, const ShownOp& op,
                    const std::function<void(const QPointF&, const QPointF&)>& visit) {
  const Plan& plan = scene.run(op.run).run->plan;
  const TaskId task = op.task;
  const auto arrow = [&](TaskId from, TaskId to) {
    const QRectF one = scene.place_of_task({from, op.run});
    const QRectF other = scene.place_of_task({to, op.run});
    visit({one.right(), one.center().y()}, {other.left(), other.center().y()});
  };
  plan.for_each_input(task, [&](TaskId input) { arrow(input, task); });
  for (const TaskId reader : readers_of(plan, task)) arrow(task, reader);
}

/// Paints what is marked over the lanes.
class CanvasOverlay : CanvasParts {
 public:
  CanvasOverlay(const CanvasScene& scene, QPainter& painter) : scene_(scene), painter_(painter) {}

  void paint() {
    const Theme& colours = scene_.colours();
    painter_.save();
    painter_.setClipRect(
        QRect(gutter, header, scene_.widget().width() - gutter, scene_.widget().height() - header));
    if (scene_.kept_height() > 0) {
      painter_.setPen(qt_colour(colours.grid));
      const double end = header + scene_.kept_height() - 1;
      painter_.drawLine(QPointF(gutter, end), QPointF(scene_.widget().width(), end));
    }
    if (scene_.area()) paint_area();
    if (!scene_.path().empty()) paint_path();
    const auto clipped = [&](const ShownOp& op, auto&& draw) {
      const QRectF place = scene_.place_of_task(op);
      if (place.isNull()) return;
      const std::uint32_t rank = rank_of_task(scene_.run(op.run).run->plan, op.task);
      painter_.save();
      painter_.setClipRect(scene_.room_of(scene_.is_pinned(rank)), Qt::IntersectClip);
      draw(place);
      painter_.restore();
    };
    const auto frame = [&](const ShownOp& op, const QPen& pen, double wide) {
      clipped(op, [&](const QRectF& place) { two_tone_frame(painter_, place, wide); });
      painter_.setBrush(Qt::NoBrush);
      painter_.setPen(pen);
      if (!scene_.place_of_task(op).isNull()) paint_arrows(op);
    };
    for (const ShownOp& same : scene_.in_other_runs(scene_.hovered())) {
      clipped(same, [&](const QRectF& place) {
        painter_.setBrush(Qt::NoBrush);
        for (const QPen& pen : {QPen(qt_colour(paper), 1), QPen(qt_colour(ink), 1, Qt::DotLine)}) {
          painter_.setPen(pen);
          painter_.drawRect(place.adjusted(0, 0, -1, -1));
        }
      });
    }
    if (scene_.hovered() != scene_.selected())
      frame(scene_.hovered(), {qt_colour(colours.ink), 1}, 1);
    frame(scene_.selected(), {qt_colour(colours.accent), 2}, 2);
    painter_.restore();
  }

 private:
  /// A step of memory is outlined in its lane, not on all of them.
  void paint_memory(double left, double right) {
    const Area& step = *scene_.area();
    QRectF place = scene_.place_of_memory(step.first_rank, step.run);
    if (place.isNull()) return;
    place.setLeft(left);
    place.setRight(std::max(right, left + 1));
    painter_.save();
    painter_.setClipRect(scene_.room_of(scene_.is_pinned(step.first_rank)), Qt::IntersectClip);
    two_tone_frame(painter_, place, 2);
    painter_.restore();
  }

  void paint_area() {
    const Theme& colours = scene_.colours();
    const double left = gutter + scene_.view().axis.x_of(scene_.area()->begin);
    const double right = gutter + scene_.view().axis.x_of(scene_.area()->end);
    if (scene_.area()->memory) return paint_memory(left, right);
    QColor shade = qt_colour(colours.accent);
    shade.setAlpha(36);
    const auto put = [&](std::uint32_t first_rank, std::uint32_t last_rank, const QRectF& room) {
      const QRectF box(
          QPointF(left, scene_.place_of_lane(first_rank, scene_.area()->run).top()),
          QPointF(right, scene_.place_of_lane(last_rank, scene_.area()->run).bottom()));
      painter_.fillRect(box.intersected(room), shade);
    };
    if (!is_ordered(scene_.choice())) {
      put(scene_.area()->first_rank, scene_.area()->end_rank - 1, scene_.room_of(false));
    } else {
      for (const std::uint32_t rank : shown_ranks(scene_.choice())) {
        if (scene_.area()->has(rank)) put(rank, rank, scene_.room_of(scene_.is_pinned(rank)));
      }
    }
    painter_.setPen(QPen(qt_colour(colours.accent), 1));
    painter_.drawLine(QPointF(left, header), QPointF(left, scene_.widget().height()));
    painter_.drawLine(QPointF(right, header), QPointF(right, scene_.widget().height()));
  }

  void paint_path() {
    const Theme& colours = scene_.colours();
    QVector<QLineF> lines;
    const QColor stroke = qt_colour(mix(colours.ink, peak_colour, 0.25));
    painter_.setPen(QPen(stroke, 1.6));
    painter_.setBrush(Qt::NoBrush);
    painter_.setRenderHint(QPainter::Antialiasing);
    const ViewedRun& run = *scene_.run(scene_.path().run).run;
    const std::vector<TaskId>& tasks = scene_.path().tasks;
    const auto first_after = [&](double x) {
      const std::int64_t time = scene_.view().axis.time_at(x - gutter);
      return std::partition_point(tasks.begin(), tasks.end(), [&](TaskId task) {
        return run.timeline.end[task].picoseconds < time;
      });
    };
    auto step = first_after(gutter);
    if (step != tasks.begin()) --step;
    // Below the labels. Of steps narrower than a pixel one in each column is drawn, without a line
    // that leads to it.
    for (bool follows = false, ends = false; step != tasks.end() && !ends;) {
      const QRectF place = scene_.place_of_task({*step, scene_.path().run});
      if (place.isNull()) return;
      const double low = place.top() + place.height() * 0.85;
      if (follows) lines << QLineF(lines.back().p2(), {place.left(), low});
      lines << QLineF(place.left(), low, place.right(), low);
      if (!is_transfer(run.plan.class_of(*step).pass) && place.width() >= 4) {
        painter_.drawRect(place.adjusted(0.8, 0.8, -0.8, -0.8));
      }
      const auto next = std::next(step);
      const bool narrow = place.width() <= 1;
      step = narrow ? std::max(next, first_after(place.right() + 1)) : next;
      follows = step == next;
      ends = place.left() > scene_.widget().width();
    }
    painter_.drawLines(lines);
    painter_.setRenderHint(QPainter::Antialiasing, false);
  }

  void paint_arrows(const ShownOp& op) {
    painter_.setRenderHint(QPainter::Antialiasing);
    for_each_arrow(scene_, op, [&](const QPointF& start, const QPointF& end) {
      QPainterPath path(start);
      const double bend = std::max(8.0, std::abs(end.x() - start.x()) / 2);
      path.cubicTo(start + QPointF(bend, 0), end - QPointF(bend, 0), end);
      painter_.drawPath(path);
      painter_.drawLine(end, end + QPointF(-6, -4));
      painter_.drawLine(end, end + QPointF(-6, 4));
    });
    painter_.setRenderHint(QPainter::Antialiasing, false);
  }

  const CanvasScene& scene_;
  QPainter& painter_;
};

}  // namespace

void paint_empty(const CanvasScene& scene, QPainter& painter) {
  painter.fillRect(scene.widget().rect(), qt_colour(scene.colours().ground));
  painter.setPen(qt_colour(scene.colours().ink));
  painter.drawText(scene.widget().rect().adjusted(8, 8, -8, -8), Qt::AlignCenter | Qt::TextWordWrap,
                   "Open a file with Ctrl+O, or drop it here:\n"
                   "a scenario (.json), a timeline (.timeline),\n"
                   "an order (.csv), results of a sweep (.jsonl),\n"
                   "traces of the PyTorch profiler (.json, .json.gz)\n"
                   "or exports of Nsight Systems (.sqlite).\n\n"
                   "Ctrl+Shift+E opens an example.");
}

void paint_frame(const CanvasScene& scene, const CanvasFrame& frame, bool fits, QPainter& painter) {
  const QRectF target(CanvasParts::gutter, CanvasParts::header, scene.lanes_width(),
                      std::max(1, scene.widget().height() - CanvasParts::header));
  if (fits) {
    painter.drawImage(target, frame.image);
    return;
  }
  painter.fillRect(target, qt_colour(scene.colours().ground));
  const TimeAxis& then = frame.view.axis;
  const double wide = frame.image.width() / frame.ratio;
  const double left = scene.view().axis.x_of(then.origin);
  const double right = scene.view().axis.x_of(then.time_at(wide));
  const double high = frame.image.height() / frame.ratio;
  const auto put = [&](const QRectF& room, double up) {
    painter.save();
    painter.setClipRect(room);
    painter.drawImage(
        QRectF(CanvasParts::gutter + left, CanvasParts::header + up, right - left, high),
        frame.image);
    painter.restore();
  };
  put(scene.room_of(false), frame.view.top - scene.view().top);
  if (scene.kept_height() > 0) put(scene.room_of(true), 0);
}

void paint_overlay(const CanvasScene& scene, QPainter& painter) {
  CanvasOverlay(scene, painter).paint();
}

QRect reach_of(const CanvasScene& scene, const ShownOp& op) {
  QRectF reach = scene.place_of_task(op);
  if (reach.isNull()) return {};
  for_each_arrow(scene, op, [&](const QPointF& start, const QPointF& end) {
    const double bend = std::abs(end.x() - start.x()) / 2;
    reach |= QRectF(start, end).normalized().adjusted(-bend, 0, bend, 0);
  });
  for (const ShownOp& same : scene.in_other_runs(op)) reach |= scene.place_of_task(same);
  return reach.adjusted(-10, -6, 10, 6).toAlignedRect() & scene.widget().rect();
}

/// Ruler, map and names of the lanes. Kept as pictures: while the pointer moves, they stay.
void CanvasChrome::paint(QPainter& painter) {
  if (is_vector(painter)) {
    CanvasGutter(scene_, painter).paint();
    paint_header(painter);
    return paint_map(painter);
  }
  draw_chrome();
  painter.drawImage(QPointF(0, header), pictures_.gutter);
  painter.drawImage(QPointF(0, 0), pictures_.header);
}

void CanvasChrome::draw_chrome() {
  const Pictures wanted{.view = scene_.view(),
                        .size = scene_.widget().size(),
                        .ratio = scene_.widget().devicePixelRatioF(),
                        .generation = scene_.generation(),
                        .lane = selected_lane(scene_),
                        .font = scene_.widget().font()};
  if (pictures_.fits(wanted)) return;
  pictures_ = wanted;
  const auto picture = [&](QSize room) {
    QImage image(room * wanted.ratio, QImage::Format_RGB32);
    image.setDevicePixelRatio(wanted.ratio);
    return image;
  };
  pictures_.header = picture({scene_.widget().width(), header});
  QPainter above(&pictures_.header);
  above.setFont(scene_.widget().font());
  paint_header(above);
  paint_map(above);
  pictures_.gutter = picture({gutter, std::max(1, scene_.widget().height() - header)});
  QPainter beside(&pictures_.gutter);
  beside.setFont(scene_.widget().font());
  beside.translate(0, -header);
  CanvasGutter(scene_, beside).paint();
}

void CanvasChrome::paint_header(QPainter& painter) {
  const Theme& colours = scene_.colours();
  painter.fillRect(QRect(0, map_height, scene_.widget().width(), header - map_height),
                   qt_colour(colours.panel));
  const QFontMetrics metrics(scene_.widget().font());
  const double apart = metrics.horizontalAdvance("000.000 ms") + 16;
  painter.setClipRect(QRect(gutter, map_height, scene_.widget().width() - gutter,
                            scene_.widget().height() - map_height));
  for (const RulerTick& tick : ruler_ticks(scene_.view().axis, scene_.lanes_width(), apart)) {
    const double x = gutter + tick.x;
    painter.setPen(qt_colour(colours.grid));
    painter.drawLine(QPointF(x, header - 7), QPointF(x, header));
    const QString text = qt_text(tick.text);
    const double half = metrics.horizontalAdvance(text) / 2.0;
    painter.setPen(qt_colour(colours.faint_ink));
    const double left = std::max<double>(gutter + 2, x - half);
    painter.drawText(QPointF(left, header - 10), text);
  }
  painter.setClipping(false);
  paint_corner(scene_, painter);
  painter.setPen(qt_colour(colours.grid));
  painter.drawLine(0, header - 1, scene_.widget().width(), header - 1);
}

void CanvasChrome::draw_map() {
  const Theme& colours = scene_.colours();
  const int wide = static_cast<int>(scene_.lanes_width());
  const auto span = static_cast<double>(std::max<std::int64_t>(1, scene_.span()));
  if (map_generation_ == scene_.generation() && map_.width() == wide) return;
  // Without pyramids it takes long; the map before stays until the run is whole.
  const bool many = scene_.first()->lanes->ops > 500'000;
  if (many && scene_.first()->run->brief && map_.width() == wide) return;
  map_generation_ = scene_.generation();
  map_ = QImage(wide, map_height, QImage::Format_RGB32);
  map_.fill(qt_colour(colours.panel));
  const double share = static_cast<double>(scene_.first()->lanes->span) / span;
  const int own = std::clamp(static_cast<int>(std::lround(wide * share)), 1, wide);
  const auto shares = idle_over_time(*scene_.first(), own);
  const Pixels pixels{reinterpret_cast<std::uint32_t*>(map_.bits()), wide, map_height,
                      static_cast<std::size_t>(map_.bytesPerLine()) / 4};
  pixels.fill(0, 0, own, map_height, packed(colours.busy()));
  for (int x = 0; x < own; ++x) {
    float end = 0;
    int done = 0;
    for (std::size_t c = 0; c < idle_cause_count; ++c) {
      end += shares[static_cast<std::size_t>(x)][c] * map_height;
      const int until = static_cast<int>(std::lround(end));
      pixels.fill(x, done, x + 1, until, packed(colours.idle[c]));
      done = until;
    }
  }
}

void CanvasChrome::paint_map(QPainter& painter) {
  const Theme& colours = scene_.colours();
  draw_map();
  painter.fillRect(QRect(0, 0, scene_.widget().width(), map_height), qt_colour(colours.panel));
  if (is_vector(painter)) {
    paint_boxes(map_, QPointF(gutter, 0), 1, painter);
  } else {
    painter.drawImage(gutter, 0, map_);
  }
  painter.setPen(qt_colour(colours.faint_ink));
  painter.drawText(QRect(4, 0, gutter - 8, map_height), Qt::AlignVCenter | Qt::AlignLeft,
                   "idle share" + scene_.of_run(0));
  const double scale =
      scene_.lanes_width() / static_cast<double>(std::max<std::int64_t>(1, scene_.span()));
  const double left = gutter + static_cast<double>(scene_.view().axis.origin) * scale;
  const double right =
      gutter + static_cast<double>(scene_.view().axis.time_at(scene_.lanes_width())) * scale;
  QRectF window(left, 1, std::max(3.0, right - left), map_height - 2);
  window = window.intersected(QRectF(gutter, 1, scene_.lanes_width() - 1, map_height - 2));
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(qt_colour(colours.accent), 2));
  painter.drawRect(window);
}

}  // namespace penstock
