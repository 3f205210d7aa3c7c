#include "gui/views/panels/indicators.hpp"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <array>
#include <cmath>

#include "experiments/show/pictures/lanes/timeline_picture.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr int legend_line = 20;
constexpr int legend_left = 6;
constexpr int legend_box = 22;
constexpr int heat_box = 28;
constexpr int narrowest_legend = 200;
constexpr std::array<int, 5> heat_shares{3, 10, 25, 50, 100};  // in per cent

/// What has a colour in some runs.
struct Seen {
  std::set<std::uint8_t> categories;
  std::set<std::uint8_t> causes;
};

Seen seen_in(const std::vector<PaintedRunPtr>& runs) {
  Seen seen;
  for (const PaintedRunPtr& run : runs) {
    for (const RankPyramids& rank : run->pyramids) {
      for (const auto* tracks : {&rank.compute, &rank.send}) {
        for (const Pyramid& pyramid : *tracks) {
          seen.categories.insert(pyramid.categories().begin(), pyramid.categories().end());
        }
      }
      seen.causes.insert(rank.idle.categories().begin(), rank.idle.categories().end());
    }
    for (const RankTracks& rank : run->lanes->ranks) {
      if (rank.idle.size() == 0) continue;
      // Waiting at the ends of a rank is in no pyramid.
      for (const std::uint32_t tag : {rank.idle.tag.front(), rank.idle.tag.back()}) {
        seen.causes.insert(static_cast<std::uint8_t>(cause_of(tag)));
      }
    }
  }
  return seen;
}

/// What a colour says of ops: their pass, or the first of their names and how many share it.
QString name_of_category(const PaintedRun& run, std::uint8_t category) {
  const Plan& plan = run.run->plan;
  if (plan.class_names.empty()) return qt_text(pass_name(static_cast<Pass>(category)));
  std::set<std::string> names;
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    if (run.colouring.category_of_class(c) == category) names.insert(plan.class_names[c]);
  }
  if (names.empty()) return {};
  const QString more = names.size() > 1 ? QString(" and %1 more").arg(names.size() - 1) : QString();
  return qt_text(*names.begin()) + more;
}

constexpr int map_left = 28;
constexpr int map_bottom = 22;

}  // namespace

RunLegend::RunLegend(QWidget* parent) : QWidget(parent) { setAccessibleName("Legend"); }

void RunLegend::show_runs(const std::vector<PaintedRunPtr>& runs, ThemeName name_of_theme,
                          const std::vector<LaneRow>& rows) {
  entries_.clear();
  const PaintedRun& run = *runs.front();
  const Theme& colours = theme(name_of_theme);
  const auto [categories, causes] = seen_in(runs);
  const auto any = [&](auto&& is) { return std::any_of(rows.begin(), rows.end(), is); };
  heat_ = any([](const LaneRow& row) { return row.heat; });
  const bool ops = any([](const LaneRow& row) { return !row.heat; });
  const bool memory = any([](const LaneRow& row) { return row.kind == LaneKind::memory; });
  if (heat_) add_heat(run, colours, causes);
  if (ops) add_ops(run, colours, categories);
  add_causes(run, colours, causes);
  if (memory && run.memory != nullptr) add_memory(*run.memory);
  if (runs.size() > 1) {
    entries_.push_back({qt_colour(later_colour), {}, "later than in A"});
    entries_.push_back({qt_colour(earlier_colour), {}, "earlier than in A"});
  }
  QStringList words;
  for (const Entry& entry : entries_) words << entry.text;
  setAccessibleDescription(words.join(", "));
  setMinimumHeight(sizeHint().height());
  update();
}

void RunLegend::add_ops(const PaintedRun& run, const Theme& colours,
                        const std::set<std::uint8_t>& categories) {
  std::size_t count = run.run->plan.microbatches / slices_of(*run.run);
  if (run.by == ColourBy::stage) {
    count = 0;
    for (const WorkClass& work : run.run->plan.classes) {
      count = std::max<std::size_t>(count, index(work.stage) + 1);
    }
  }
  for (const std::uint8_t category : categories) {
    QString text = "ops";
    if (run.by == ColourBy::pass) text = name_of_category(run, category);
    if (run.by == ColourBy::stage || run.by == ColourBy::microbatch) {
      if (category >= count) continue;  // of no op
      text = QString("%1 %2").arg(qt_text(name(run.by))).arg(category);
      if (category + series_colours < count) text += QString(", %1").arg(category + series_colours);
      if (category + 2 * series_colours < count) text += ", …";
    }
    const Colour colour = run.colouring.category_colour(category, colours.kind);
    entries_.push_back({qt_colour(colour), {}, text});
  }
  const int ticks = run.colouring.most_ticks();
  if (ticks == 0) return;
  const Colour last = pass_colour(Pass::forward, 1, 2);
  const QString text = "ticks: %1 of its rank before its own (0–%2)";
  const char* const what = has_exchanges(run.run->plan) ? "pieces" : "stages";
  entries_.push_back(
      {qt_colour(last), {}, text.arg(what).arg(ticks), {}, qt_colour(text_on(last))});
}

void RunLegend::add_causes(const PaintedRun& run, const Theme& colours,
                           const std::set<std::uint8_t>& causes) {
  for (const std::uint8_t cause : causes) {
    entries_.push_back(
        {qt_colour(colours.idle[cause]),
         hatch_brush(hatch_of(static_cast<IdleCause>(cause)), qt_colour(colours.idle_lines[cause])),
         "idle: " + qt_text(cause_name(run.run->plan, static_cast<IdleCause>(cause)))});
  }
}

/// The first line has the shares over the shades of the others.
void RunLegend::add_heat(const PaintedRun& run, const Theme& colours,
                         const std::set<std::uint8_t>& causes) {
  QStringList shares;
  for (const int share : heat_shares) shares << QString::number(share);
  entries_.push_back({{}, {}, "heat: " + shares.join(" ") + " % idle"});
  for (const std::uint8_t cause : causes) {
    Entry entry{
        {}, {}, "heat: " + qt_text(cause_name(run.run->plan, static_cast<IdleCause>(cause)))};
    for (const int share : heat_shares) {
      entry.shades.push_back(
          qt_colour(heat_shade(colours.lane, colours.heat[cause], share / 100.0)));
    }
    entries_.push_back(std::move(entry));
  }
}

void RunLegend::add_memory(const RunMemory& memory) {
  for (const BufferKind kind : memory.kinds) {
    entries_.push_back({qt_colour(memory_colour(kind)), {}, "memory: " + qt_text(name(kind))});
  }
  if (memory.kinds.empty()) {
    entries_.push_back({qt_colour(memory_colour(BufferKind::stash)), {}, "memory: all kinds"});
  }
}

QSize RunLegend::sizeHint() const {
  return {heat_ ? narrowest_legend + 80 : narrowest_legend,
          static_cast<int>(entries_.size()) * legend_line + 8};
}

void RunLegend::paint_scale(QPainter& painter, int y) const {
  QRect place(legend_left, y, heat_box, legend_line);
  for (const int share : heat_shares) {
    painter.drawText(place, Qt::AlignCenter, QString::number(share));
    place.translate(heat_box, 0);
  }
  painter.drawText(place.adjusted(8, 0, narrowest_legend, 0), Qt::AlignVCenter, "% idle, as heat");
}

void RunLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  int y = 4;
  for (const Entry& entry : entries_) {
    const int shades = static_cast<int>(entry.shades.size());
    const int wide = shades == 0 ? legend_box : heat_box * shades;
    const QRect all(legend_left, y + 3, wide, legend_line - 6);
    painter.setPen(palette().color(QPalette::WindowText));
    if (entry.shades.empty() && !entry.colour.isValid()) {
      paint_scale(painter, y);
      y += legend_line;
      continue;
    }
    QRect box(all.topLeft(), QSize(heat_box, all.height()));
    for (const QColor& shade : entry.shades) {
      painter.fillRect(box, shade);
      box.translate(heat_box, 0);
    }
    if (entry.shades.empty()) painter.fillRect(all, entry.colour);
    painter.fillRect(all, entry.lines);
    for (int x = all.left() + 2; entry.ticks.isValid() && x < all.left() + 9; x += 4) {
      painter.fillRect(QRect(x, all.top() + 1, 3, 5), entry.ticks);
    }
    painter.drawText(QRect(all.right() + 9, y, width() - all.right() - 11, legend_line),
                     Qt::AlignVCenter, entry.text);
    painter.setPen(palette().color(QPalette::Mid));
    painter.drawRect(all);
    y += legend_line;
  }
}

ResidualMap::ResidualMap(QWidget* parent) : QWidget(parent) {
  setMinimumHeight(90);
  setAccessibleName("Differences of durations by stage and microbatch");
}

void ResidualMap::show_residuals(std::vector<std::vector<double>> residuals,
                                 const QString& without) {
  residuals_ = std::move(residuals);
  largest_ = 0;
  for (const auto& stage : residuals_) {
    for (const double value : stage) largest_ = std::max(largest_, std::fabs(value));
  }
  without_ = residuals_.empty() ? without : "Durations as in A";
  setAccessibleDescription(
      largest_ == 0 ? without_ : QString("largest difference %1 %").arg(100 * largest_, 0, 'f', 1));
  update();
}

std::pair<double, double> ResidualMap::cell_size() const {
  return {
      static_cast<double>(width() - map_left - 4) / static_cast<double>(residuals_.front().size()),
      static_cast<double>(height() - map_bottom) / static_cast<double>(residuals_.size())};
}

void ResidualMap::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setPen(palette().color(QPalette::WindowText));
  if (largest_ == 0) {
    painter.drawText(rect(), Qt::AlignCenter, without_);
    return;
  }
  const auto [wide, high] = cell_size();
  for (std::size_t s = 0; s < residuals_.size(); ++s) {
    for (std::size_t m = 0; m < residuals_[s].size(); ++m) {
      const double value = residuals_[s][m] / largest_;
      const Colour end = value > 0 ? later_colour : earlier_colour;
      const QColor ground = palette().color(QPalette::AlternateBase);
      const Colour base{static_cast<std::uint8_t>(ground.red()),
                        static_cast<std::uint8_t>(ground.green()),
                        static_cast<std::uint8_t>(ground.blue())};
      painter.fillRect(
          QRectF(map_left + static_cast<double>(m) * wide, static_cast<double>(s) * high,
                 std::max(1.0, wide - 1), std::max(1.0, high - 1)),
          qt_colour(mix(base, end, std::fabs(value))));
    }
    const QFontMetrics metrics(font());
    if (high >= metrics.height() || s % 4 == 0) {
      painter.drawText(QRectF(0, static_cast<double>(s) * high, map_left - 4,
                              std::max<double>(high, metrics.height())),
                       Qt::AlignRight | Qt::AlignTop, QString::number(s));
    }
  }
  painter.drawText(QRect(map_left, height() - map_bottom, width() - map_left, map_bottom),
                   Qt::AlignCenter,
                   QString("microbatch; full colour: %1 % of A").arg(100 * largest_, 0, 'f', 1));
}

std::optional<std::pair<std::size_t, std::size_t>> ResidualMap::cell_at(QPointF point) const {
  if (residuals_.empty() || residuals_.front().empty()) return std::nullopt;
  const auto [wide, high] = cell_size();
  const auto s = static_cast<std::size_t>(std::max(0.0, point.y() / high));
  const auto m = static_cast<std::size_t>(std::max(0.0, (point.x() - map_left) / wide));
  if (s >= residuals_.size() || m >= residuals_[s].size()) return std::nullopt;
  return std::pair(s, m);
}

bool ResidualMap::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto cell = cell_at(help->pos());
  if (!cell) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(help->globalPos(),
                       QString("stage %1, microbatch %2: %3 %")
                           .arg(cell->first)
                           .arg(cell->second)
                           .arg(100 * residuals_[cell->first][cell->second], 0, 'f', 2));
  }
  return true;
}

void ResidualMap::mouseReleaseEvent(QMouseEvent* event) {
  const auto cell = cell_at(event->position());
  if (cell && on_cell) on_cell(cell->first, cell->second);
}

TextLine::TextLine(const QString& accessible_name) {
  setAccessibleName(accessible_name);
  setTextFormat(Qt::PlainText);
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void TextLine::set_text(const QString& text) {
  setText(text);
  setToolTip(text);
}

QString TextLine::line() const { return text().replace('\n', ' '); }

QSize TextLine::sizeHint() const {
  return {fontMetrics().horizontalAdvance(line()) + 8, fontMetrics().height() + 4};
}

void TextLine::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QString shown = fontMetrics().elidedText(line(), Qt::ElideRight, width() - 4);
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawText(rect().adjusted(2, 0, -2, 0), Qt::AlignVCenter | Qt::AlignLeft, shown);
}

void TextLine::mouseReleaseEvent(QMouseEvent* event) {
  QLabel::mouseReleaseEvent(event);
  if (on_click && !text().isEmpty()) on_click();
}

}  // namespace penstock
