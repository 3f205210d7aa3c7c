#include "gui/views/canvas/canvas_vector.hpp"

#include <QPaintEngine>
#include <QPainterPath>
#include <cmath>
#include <cstring>
#include <map>

#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr int finest = 4;                   // pixels of the image for one of the frame
constexpr std::size_t many_boxes = 40'000;  // with these, an image as it is on the screen

/// Calls `visit(box, colour)` for boxes that cover an image: rows that are alike are one band, and
/// what has one colour in a band is one box.
template <class Visitor>
void for_each_box(const QImage& image, Visitor&& visit) {
  const auto row = [&](int y) { return reinterpret_cast<const QRgb*>(image.constScanLine(y)); };
  const std::size_t bytes = static_cast<std::size_t>(image.width()) * sizeof(QRgb);
  for (int top = 0, bottom = 1; top < image.height(); top = bottom++) {
    while (bottom < image.height() && std::memcmp(row(top), row(bottom), bytes) == 0) ++bottom;
    for (int left = 0, right = 1; left < image.width(); left = right++) {
      while (right < image.width() && row(top)[left] == row(top)[right]) ++right;
      visit(QRect(left, top, right - left, bottom - top), row(top)[left]);
    }
  }
}

/// The frame once more with other pixels, without letters and lines: these go to `marks`.
CanvasFrame drawn_finer(const CanvasFrame& frame, int times, LaneMarks& marks) {
  CanvasFrame finer = frame;
  finer.ratio = frame.ratio * times;
  finer.kept = frame.kept * times;
  for (LaneRow& row : finer.rows) {
    row.top *= times;
    row.height *= times;
  }
  marks = {};
  finer.marks = &marks;
  finer.glyphs =
      std::make_shared<const Glyphs>(glyphs_of(QFont(), finer.ratio, letters_of(finer.runs)));
  finer.image = QImage(frame.image.size() * times, QImage::Format_RGB32);
  CanvasDrawing().draw(finer);
  return finer;
}

std::size_t boxes_in(const QImage& image) {
  std::size_t count = 0;
  for_each_box(image, [&](const QRect&, QRgb) { ++count; });
  return count;
}

/// Lines six pixels apart, as those of `hatch_row`.
void add_hatch(const QRectF& box, Hatch hatch, QPainterPath& path) {
  const double s = hatch_pixels;
  const auto each = [&](double from, double to, auto&& add) {
    for (double at = (std::floor(from / s) + 1) * s; at < to; at += s) add(at);
  };
  const auto line = [&](double x, double y, double right, double bottom) {
    path.moveTo(x, y);
    path.lineTo(right, bottom);
  };
  if (has(hatch, Hatch::rising)) {
    each(box.left() + box.top(), box.right() + box.bottom(), [&](double sum) {
      const double x = std::max(box.left(), sum - box.bottom());
      const double right = std::min(box.right(), sum - box.top());
      line(x, sum - x, right, sum - right);
    });
  }
  if (has(hatch, Hatch::falling)) {
    each(box.left() - box.bottom(), box.right() - box.top(), [&](double apart) {
      const double x = std::max(box.left(), apart + box.top());
      const double right = std::min(box.right(), apart + box.bottom());
      line(x, x - apart, right, right - apart);
    });
  }
  each(box.top(), box.bottom(), [&](double y) {
    if (has(hatch, Hatch::level)) line(box.left(), y, box.right(), y);
    if (!has(hatch, Hatch::dotted)) return;
    each(box.left(), box.right() - 1.5, [&](double x) { line(x, y, x + 1.5, y); });
  });
  if (has(hatch, Hatch::upright)) {
    each(box.left(), box.right(), [&](double x) { line(x, box.top(), x, box.bottom()); });
  }
}

void paint_hatches(const LaneMarks& marks, double pixel, QPainter& painter) {
  std::map<QRgb, QPainterPath> paths;
  for (const LaneMarks::Hatched& piece : marks.hatched) {
    const QRectF box(QPointF(piece.left, piece.top) * pixel,
                     QPointF(piece.right, piece.bottom) * pixel);
    add_hatch(box, piece.hatch, paths[piece.lines]);
  }
  painter.setBrush(Qt::NoBrush);
  for (const auto& [lines, path] : paths) {
    painter.setPen(QPen(QColor(lines), 0.8));
    painter.drawPath(path);
  }
}

void paint_labels(const LaneMarks& marks, const Glyphs& glyphs, double pixel, QPainter& painter) {
  QFont font = painter.font();
  const double high = glyphs.height * pixel;
  font.setPixelSize(std::max(1, static_cast<int>(std::lround(QFontMetricsF(font).height() * 0.8))));
  painter.setFont(font);
  for (const LaneMarks::Label& label : marks.labels) {
    painter.setPen(qt_colour(label.colour));
    const QRectF room(label.left * pixel, label.middle * pixel - high / 2, label.width * pixel,
                      high);
    painter.drawText(room, Qt::AlignCenter | Qt::TextDontClip, qt_text(label.text));
  }
}

}  // namespace

bool is_vector(const QPainter& painter) {
  return painter.paintEngine()->type() != QPaintEngine::Raster;
}

void paint_boxes(const QImage& image, QPointF at, double pixel, QPainter& painter) {
  std::map<QRgb, QPainterPath> paths;
  for_each_box(image, [&](const QRect& box, QRgb colour) {
    paths[colour].addRect(QRectF(QPointF(box.topLeft()) * pixel + at, QSizeF(box.size()) * pixel));
  });
  painter.setPen(Qt::NoPen);
  for (const auto& [colour, path] : paths) {
    painter.setBrush(QColor(colour));
    painter.drawPath(path);
  }
}

void paint_vector(const CanvasFrame& frame, QPainter& painter) {
  LaneMarks marks;
  int times = finest;
  CanvasFrame drawn = drawn_finer(frame, times, marks);
  if (boxes_in(drawn.image) > many_boxes) drawn = drawn_finer(frame, times = 1, marks);
  const double pixel = 1 / drawn.ratio;
  painter.save();
  painter.translate(CanvasParts::gutter, CanvasParts::header);
  paint_boxes(drawn.image, {}, pixel, painter);
  paint_hatches(marks, pixel, painter);
  paint_labels(marks, *drawn.glyphs, pixel, painter);
  painter.restore();
}

}  // namespace penstock
