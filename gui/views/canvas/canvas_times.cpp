#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/views/canvas/canvas_paint.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr int padding = 4;

/// Writes times over the canvas.
class TimeWriter : CanvasParts {
 public:
  TimeWriter(const CanvasScene& scene, QPainter& painter)
      : scene_(scene), painter_(painter), metrics_(scene.widget().font()) {}

  void paint() {
    painter_.save();
    painter_.setClipRect(QRect(gutter, map_height, scene_.widget().width() - gutter,
                               scene_.widget().height() - map_height),
                         Qt::IntersectClip);
    paint_marks();
    if (scene_.area()) paint_area();
    if (scene_.cursor()) paint_cursor(*scene_.cursor());
    painter_.restore();
  }

 private:
  double x_of(std::int64_t time) const { return gutter + scene_.view().axis.x_of(time); }
  QString told(std::int64_t time) const {
    return qt_text(exact_time(time, scene_.view().axis.picoseconds_per_pixel));
  }
  QColor accent() const { return qt_colour(scene_.colours().accent); }

  /// A text on a ground of its own, so that it can be read over anything.
  QRectF write(QPointF left_top, const QString& text, QColor ground) {
    const QRectF box(left_top,
                     QSizeF(metrics_.horizontalAdvance(text) + 2 * padding, metrics_.height() + 2));
    painter_.fillRect(box, ground);
    painter_.setPen(qt_colour(scene_.colours().ground));
    painter_.drawText(box, Qt::AlignCenter, text);
    return box;
  }

  /// Number and time of each, and how far it is from the one before; side by side, or in steps
  /// where there is no room for that.
  void paint_marks() {
    const std::vector<std::int64_t>& marks = scene_.marks();
    const double bottom = scene_.widget().height() - metrics_.height() - 4;
    double free_from = gutter;
    double up = 0;
    for (std::size_t i = 0; i < marks.size(); ++i) {
      const double x = x_of(marks[i]);
      if (x < gutter || x > scene_.widget().width()) continue;
      painter_.setPen(accent());
      painter_.drawLine(QPointF(x, map_height), QPointF(x, scene_.widget().height()));
      QString text = QString("%1 · %2").arg(i + 1).arg(told(marks[i]));
      if (i > 0) text += " · +" + qt_text(short_time(marks[i] - marks[i - 1]));
      up = x < free_from ? up + metrics_.height() + 3 : 0;
      free_from = write({x, bottom - up}, text, accent()).right();
    }
  }

  void paint_area() {
    const Area& area = *scene_.area();
    const double left = std::max<double>(gutter, x_of(area.begin));
    const double right = std::min<double>(scene_.widget().width(), x_of(area.end));
    const QString text = told(area.end - area.begin);
    const double wide = metrics_.horizontalAdvance(text) + 2 * padding;
    if (right < gutter || left > scene_.widget().width()) return;
    const double above = scene_.place_of_lane(area.first_rank, area.run).top() - metrics_.height();
    write({(left + right - wide) / 2, std::max(header + 1.0, above - 3)}, text, accent());
  }

  /// Of the pointer, over all lanes, and how far it is from the nearest mark.
  void paint_cursor(double x) {
    QColor line = qt_colour(scene_.colours().ink);
    line.setAlpha(130);
    painter_.setPen(line);
    painter_.drawLine(QPointF(x, map_height), QPointF(x, scene_.widget().height()));
    const std::int64_t time = scene_.view().axis.time_at(x - gutter);
    QString text = told(time);
    const std::vector<std::int64_t>& marks = scene_.marks();
    const auto nearest = std::min_element(marks.begin(), marks.end(), [&](auto a, auto b) {
      return std::llabs(a - time) < std::llabs(b - time);
    });
    if (nearest != marks.end()) {
      text += QString(" · %1 %2 %3")
                  .arg(nearest - marks.begin() + 1)
                  .arg(time < *nearest ? "−" : "+", told(std::llabs(time - *nearest)));
    }
    const double wide = metrics_.horizontalAdvance(text) + 2 * padding;
    const double left = std::clamp(x - wide / 2, gutter + 1.0,
                                   std::max(gutter + 1.0, scene_.widget().width() - wide - 1));
    write({left, map_height + 1.0}, text, qt_colour(scene_.colours().ink));
  }

  const CanvasScene& scene_;
  QPainter& painter_;
  QFontMetrics metrics_;
};

}  // namespace

void paint_times(const CanvasScene& scene, QPainter& painter) {
  TimeWriter(scene, painter).paint();
}

}  // namespace penstock
