#include <QPaintEngine>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/models/drawing/painted_run.hpp"
#include "gui/views/canvas/canvas.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {

/// Ruler, map and names of the lanes. Kept as pictures: while the pointer moves, they stay.
void TimelineCanvas::paint_chrome(QPainter& painter) {
  if (painter.paintEngine()->type() != QPaintEngine::Raster) {
    paint_gutter(painter);
    paint_header(painter);
    return paint_map(painter);
  }
  draw_chrome();
  painter.drawImage(QPointF(0, header), chrome_.gutter);
  painter.drawImage(QPointF(0, 0), chrome_.header);
}

/// The rank and run of the selected op.
std::pair<std::uint32_t, std::uint8_t> TimelineCanvas::selected_lane() const {
  if (selected_.is_none()) return {UINT32_MAX, 0};
  return {rank_of_task(run(selected_.run).run->plan, selected_.task), selected_.run};
}

void TimelineCanvas::draw_chrome() {
  const Chrome wanted{.view = view(),
                      .size = size(),
                      .ratio = devicePixelRatioF(),
                      .generation = generation_,
                      .lane = selected_lane(),
                      .font = font(),
                      .header = {},
                      .gutter = {}};
  if (chrome_.fits(wanted)) return;
  chrome_ = wanted;
  const auto picture = [&](QSize room) {
    QImage image(room * wanted.ratio, QImage::Format_RGB32);
    image.setDevicePixelRatio(wanted.ratio);
    return image;
  };
  chrome_.header = picture({width(), header});
  QPainter above(&chrome_.header);
  above.setFont(font());
  paint_header(above);
  paint_map(above);
  chrome_.gutter = picture({gutter, std::max(1, height() - header)});
  QPainter beside(&chrome_.gutter);
  beside.setFont(font());
  beside.translate(0, -header);
  paint_gutter(beside);
}

void TimelineCanvas::paint_marks(QPainter& painter) {
  painter.setPen(qt_colour(theme(theme_).accent));
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    const double x = gutter + view().axis.x_of(marks_[i]);
    if (x < gutter) continue;
    painter.drawLine(QPointF(x, map_height), QPointF(x, height()));
    painter.drawText(QPointF(x + 3, height() - 5), QString::number(i + 1));
  }
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
  const Pixels pixels{reinterpret_cast<std::uint32_t*>(map_.bits()), wide, map_height,
                      static_cast<std::size_t>(map_.bytesPerLine()) / 4};
  for (int x = 0; x < wide; ++x) {
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

QString TimelineCanvas::name_of(const LaneRow& row) const {
  const QString letter = QChar(letter_of_run(row.run, choice_.frozen));
  switch (row.kind) {
    case LaneKind::send:
      return "sends";
    case LaneKind::receive:
      return "receives";
    case LaneKind::memory:
      return "memory";
    case LaneKind::difference:
      return letter + " − A";
    case LaneKind::link:
      return "link " + qt_text(text(first_->run->plan.links[row.rank]));
    case LaneKind::compute:
      break;
  }
  const bool several = choice_.runs > 1 && choice_.style != PairStyle::ghost;
  return QString("rank %1").arg(row.rank) + (several ? " " + letter : QString());
}

/// Writes the name of a lane where there is room for it below `free_from`; where the next may
/// begin.
double TimelineCanvas::paint_name(QPainter& painter, const LaneRow& row, QColor ink,
                                  double free_from) const {
  const double high = row.height / devicePixelRatioF();
  const double needed = QFontMetrics(font()).height() * 0.9;
  double middle = top_of(row) + high / 2;
  if (row.top == 0) middle = std::max(middle, header + needed / 2 - view().top);
  const bool is_main = row.kind == LaneKind::compute;
  if (!is_main && row.kind != LaneKind::link && high < needed) return free_from;
  if (middle - needed / 2 < free_from || middle + needed / 2 > height()) return free_from;
  painter.setPen(ink);
  painter.drawText(QRectF(6, middle - needed, gutter - 12, 2 * needed),
                   Qt::AlignVCenter | (is_main ? Qt::AlignLeft : Qt::AlignRight), name_of(row));
  return middle + needed / 2;
}

void TimelineCanvas::paint_gutter(QPainter& painter) {
  const Theme& colours = theme(theme_);
  painter.fillRect(QRect(0, header, gutter, height() - header), qt_colour(colours.panel));
  double free_from = header;
  painter.setClipRect(QRect(0, header, gutter, height() - header));
  const auto [selected_rank, selected_run] = selected_lane();
  const double kept = kept_height();
  for (const LaneRow& row : rows()) {
    if (row.ghost) continue;
    if (kept > 0 && !row.pinned) {
      free_from = std::max(free_from, header + kept);
      painter.setClipRect(QRectF(0, header + kept, gutter, height() - header - kept));
    }
    if (row.pinned) {
      const double high = row.height / devicePixelRatioF();
      painter.fillRect(QRectF(0, top_of(row), 3, high), qt_colour(colours.accent));
    }
    const bool is_main = row.kind == LaneKind::compute;
    const bool is_selected = is_main && row.rank == selected_rank && row.run == selected_run;
    const Colour ink = is_main ? colours.ink : colours.faint_ink;
    free_from = paint_name(painter, row, qt_colour(is_selected ? colours.accent : ink), free_from);
  }
  painter.setClipping(false);
  if (kept == 0) return;
  painter.setPen(qt_colour(colours.grid));
  painter.drawLine(QPointF(0, header + kept - 1), QPointF(gutter, header + kept - 1));
}

}  // namespace penstock
