#include "gui/views/canvas/canvas_gutter.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "experiments/input/files/table.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr double edge = 6;  // from the sides
constexpr double bar_width = 26;

/// Three significant digits are enough beside a lane: "38.6 GiB".
QString short_bytes(std::uint64_t bytes) {
  const QString whole = qt_text(bytes_text(bytes));
  const QStringList parts = whole.split(' ');
  const double number = parts.front().toDouble();
  return QString::number(number, 'g', number < 999.5 ? 3 : 4) + " " + parts.back();
}

/// "98.3 of 80 GiB".
QString short_overflow(std::uint64_t bytes, std::uint64_t capacity) {
  const QStringList most = short_bytes(bytes).split(' '), all = short_bytes(capacity).split(' ');
  const QString unit = most.back() == all.back() ? "" : " " + most.back();
  return most.front() + unit + " of " + all.join(' ');
}

}  // namespace

std::pair<std::uint32_t, std::uint8_t> selected_lane(const CanvasScene& scene) {
  const ShownOp& op = scene.selected();
  if (op.is_none()) return {UINT32_MAX, 0};
  return {rank_of_task(scene.run(op.run).run->plan, op.task), op.run};
}

void paint_corner(const CanvasScene& scene, QPainter& painter) {
  const std::size_t shown = shown_ranks(scene.choice()).size();
  QString text = QString::number(shown);
  if (shown < scene.choice().ranks) text += QString(" of %1").arg(scene.choice().ranks);
  // The lanes of a trace have names.
  text += scene.first()->run->plan.rank_names.empty() ? " rank" : " lane";
  if (shown != 1 || scene.choice().ranks != 1) text += "s";
  constexpr std::array<const char*, rank_sort_count> by{"", " by idle", " by memory", " by stage"};
  text += by[static_cast<std::size_t>(scene.rank_order().sort)];
  const bool plain = scene.rank_order().is_default();
  painter.setPen(qt_colour(plain ? scene.colours().faint_ink : scene.colours().accent));
  const QFontMetrics metrics(painter.font());
  painter.drawText(QRectF(edge, CanvasParts::map_height, CanvasParts::gutter - edge,
                          CanvasParts::header - CanvasParts::map_height),
                   Qt::AlignVCenter | Qt::AlignLeft,
                   metrics.elidedText(text, Qt::ElideRight, CanvasParts::gutter - 22) + " ▾");
}

void paint_overview(const CanvasScene& scene, QPainter& painter) {
  const QRectF place = scene.overview_place();
  if (place.isEmpty()) return;
  const Theme& colours = scene.colours();
  painter.fillRect(place, qt_colour(colours.panel));
  const double scale = place.height() / scene.content_height();
  const double ratio = scene.widget().devicePixelRatioF();
  for (const LaneRow& row : scene.rows()) {
    const RankSummary* const facts = scene.facts_of(row);
    if (facts == nullptr || row.kind != LaneKind::compute || row.ghost) continue;
    const double top = place.top() + row.top / ratio * scale;
    painter.fillRect(
        QRectF(place.left() + 2, top, place.width() - 4, std::max(1.0, row.height / ratio * scale)),
        qt_colour(mix(colours.panel, colours.ink, 0.08 + 0.72 * facts->idle)));
  }
  const QRectF seen(place.left() + 0.5, place.top() + scene.view().top * scale, place.width() - 1.5,
                    std::max(6.0, place.height() * scale));
  QColor shade = qt_colour(colours.accent);
  painter.setPen(QPen(shade, 2));
  shade.setAlpha(40);
  painter.setBrush(shade);
  painter.drawRect(seen.intersected(place.adjusted(0, 0, -1, -1)));
  painter.setBrush(Qt::NoBrush);
}

CanvasGutter::CanvasGutter(const CanvasScene& scene, QPainter& painter)
    : scene_(scene),
      painter_(painter),
      line_(QFontMetrics(scene.widget().font()).height() * 0.96) {}

QString CanvasGutter::name_of(const LaneRow& row) const {
  switch (row.kind) {
    case LaneKind::send:
      return scene_.choice().receives ? "sends" : "transfers";
    case LaneKind::receive:
      return "receives";
    case LaneKind::memory:
      return "memory";
    case LaneKind::difference:
      return QString(QChar(letter_of_run(row.run, scene_.choice().frozen))) + " − A";
    case LaneKind::link:
      return "link " + qt_text(text(scene_.first()->run->plan.links[row.rank]));
    case LaneKind::compute:
      break;
  }
  return rank_name(row);
}

QString CanvasGutter::rank_number(const LaneRow& row) const {
  const bool several = scene_.choice().runs > 1 && scene_.choice().style != PairStyle::ghost;
  QString name = QString::number(row.rank);
  if (several) name += QString(" ") + QChar(letter_of_run(row.run, scene_.choice().frozen));
  if (scene_.rank_order().folded) {
    name += QString(" ×%1").arg(replicas_of(row.rank, *scene_.first()->facts));
  }
  return name;
}

/// Whether the run of a lane has its rank: others on the axis may have more.
bool CanvasGutter::is_there(const LaneRow& row) const {
  return row.rank < scene_.run(row.run).run->plan.ranks;
}

/// "3 · layers 8–15", or "rank 3" where it holds nothing else.
QString CanvasGutter::rank_name(const LaneRow& row) const {
  if (!is_there(row)) {
    return QString("no rank %1 in %2")
        .arg(row.rank)
        .arg(QChar(letter_of_run(row.run, scene_.choice().frozen)));
  }
  const QString name = rank_number(row);
  const Plan& plan = scene_.run(row.run).run->plan;
  if (!plan.rank_names.empty()) return qt_text(place_text(plan, row.rank));
  const RankSummary* const facts = scene_.facts_of(row);
  if (facts == nullptr || facts->holds.empty()) return "rank " + name;
  return name + " · " + qt_text(facts->holds);
}

void CanvasGutter::paint_bar(double share, QRectF room) {
  const Theme& colours = scene_.colours();
  painter_.fillRect(room, qt_colour(mix(colours.panel, colours.ink, 0.12)));
  room.setWidth(std::max(share > 0 ? 1.0 : 0.0, std::round(room.width() * share)));
  painter_.fillRect(room, qt_colour(mix(colours.panel, colours.ink, 0.6)));
}

/// "37 % idle ▇▁", and the memory at the right.
void CanvasGutter::paint_use(const RankSummary& facts, QRectF line, bool with_memory) {
  const QFontMetrics metrics(painter_.font());
  const QString idle =
      QString("%1 %").arg(100 * facts.idle, 0, 'f', 0) + (with_memory ? "" : " idle");
  painter_.setPen(qt_colour(scene_.colours().faint_ink));
  painter_.drawText(line, Qt::AlignVCenter | Qt::AlignLeft, idle);
  const double left = line.left() + metrics.horizontalAdvance(idle) + 5;
  const bool has_memory = with_memory && facts.peak_bytes > 0;
  const QString memory = short_bytes(facts.peak_bytes) + (facts.overflows ? "!" : "");
  const double room = line.right() - left - metrics.horizontalAdvance(memory);
  const bool beside = room >= bar_width + 4;
  // Where there is no room for both, memory that overflows stands in the place of the bar.
  const bool instead = has_memory && facts.overflows && !beside && room >= 0;
  if (!instead) paint_bar(facts.idle, {left, line.center().y() - 4, bar_width, 8});
  if (!has_memory || !(beside || instead)) return;
  if (facts.overflows) painter_.setPen(qt_colour(scene_.colours().warning));
  painter_.drawText(line, Qt::AlignVCenter | Qt::AlignRight, memory);
}

void CanvasGutter::paint_rank(const LaneRow& row, QRectF room) {
  const RankSummary* const facts = scene_.facts_of(row);
  const int lines = std::clamp(static_cast<int>(room.height() / line_), 1, facts ? 3 : 1);
  QRectF line(room.left(), room.center().y() - lines * line_ / 2, room.width(), line_);
  const QFontMetrics metrics(painter_.font());
  const auto write = [&](const QString& text, Colour colour) {
    painter_.setPen(qt_colour(colour));
    painter_.drawText(line, Qt::AlignVCenter | Qt::AlignLeft,
                      metrics.elidedText(text, Qt::ElideRight, static_cast<int>(line.width())));
    line.translate(0, line_);
  };
  const bool overflows = facts != nullptr && facts->overflows;
  const bool is_selected = selected_lane(scene_) == std::pair(row.rank, row.run);
  Colour of_rank = is_selected ? scene_.colours().accent : scene_.colours().ink;
  const bool named = is_lanes(*scene_.run(row.run).run) || !is_there(row);
  if (!is_there(row)) of_rank = scene_.colours().faint_ink;
  if (lines == 1) {
    if (overflows) of_rank = scene_.colours().warning;
    if (facts != nullptr && !named) {
      const double wide = metrics.horizontalAdvance("00 %") + 5 + bar_width;
      QRectF use = line;
      use.setLeft(line.right() - wide);
      paint_use(*facts, use, true);
      line.setRight(use.left() - 4);
    }
    return write(named ? rank_name(row) : rank_number(row), of_rank);
  }
  write(rank_name(row), of_rank);
  paint_use(*facts, line, lines == 2);
  line.translate(0, line_);
  if (lines < 3 || facts->peak_bytes == 0) return;
  if (!overflows) return write(qt_text(bytes_text(facts->peak_bytes)), scene_.colours().faint_ink);
  write(short_overflow(facts->peak_bytes, *scene_.run(row.run).run->capacity_bytes),
        scene_.colours().warning);
}

/// Writes where there is room below what is written already.
void CanvasGutter::paint_row(const LaneRow& row) {
  const double high = row.height / scene_.widget().devicePixelRatioF();
  const double needed = line_ * 0.94;
  double middle = scene_.top_of(row) + high / 2;
  if (row.top == 0) middle = std::max(middle, header + needed / 2 - scene_.view().top);
  const bool is_main = row.kind == LaneKind::compute;
  if (!is_main && row.kind != LaneKind::link && high < needed) return;
  if (middle - needed / 2 < free_from_ || middle + needed / 2 > scene_.widget().height()) return;
  const double tall = std::max(high, needed);
  const QRectF room(edge, middle - tall / 2, gutter - 2 * edge, tall);
  if (is_main) {
    paint_rank(row, room);
  } else {
    painter_.setPen(qt_colour(scene_.colours().faint_ink));
    painter_.drawText(room, Qt::AlignVCenter | Qt::AlignRight, name_of(row));
  }
  free_from_ = middle + needed / 2;
}

void CanvasGutter::paint() {
  const Theme& colours = scene_.colours();
  const double bottom = scene_.widget().height();
  painter_.fillRect(QRectF(0, header, gutter, bottom - header), qt_colour(colours.panel));
  free_from_ = header;
  painter_.setClipRect(QRectF(0, header, gutter, bottom - header));
  const double kept = scene_.kept_height();
  for (const LaneRow& row : scene_.rows()) {
    if (row.ghost) continue;
    if (kept > 0 && !row.pinned) {
      free_from_ = std::max(free_from_, header + kept);
      painter_.setClipRect(QRectF(0, header + kept, gutter, bottom - header - kept));
    }
    if (row.pinned) {
      const double high = row.height / scene_.widget().devicePixelRatioF();
      painter_.fillRect(QRectF(0, scene_.top_of(row), 3, high), qt_colour(colours.accent));
    }
    paint_row(row);
  }
  painter_.setClipping(false);
  if (kept == 0) return;
  painter_.setPen(qt_colour(colours.grid));
  painter_.drawLine(QPointF(0, header + kept - 1), QPointF(gutter, header + kept - 1));
}

}  // namespace penstock
