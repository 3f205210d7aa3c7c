#include "gui/views/panels/indicators.hpp"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <set>

#include "experiments/show/pictures/lanes/timeline_picture.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr int legend_line = 20;

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

constexpr int map_left = 28;
constexpr int map_bottom = 22;

}  // namespace

RunLegend::RunLegend(QWidget* parent) : QWidget(parent) { setAccessibleName("Legend"); }

void RunLegend::show_runs(const std::vector<PaintedRunPtr>& runs, ThemeName name_of_theme,
                          bool memory) {
  entries_.clear();
  const PaintedRun& run = *runs.front();
  const Theme& colours = theme(name_of_theme);
  const auto [categories, causes] = seen_in(runs);
  for (const std::uint8_t category : categories) {
    QString text = "ops";
    if (run.by == ColourBy::pass) text = qt_text(pass_name(static_cast<Pass>(category)));
    if (run.by == ColourBy::stage || run.by == ColourBy::microbatch) {
      text = QString("%1 %2, %3, …")
                 .arg(qt_text(name(run.by)))
                 .arg(category)
                 .arg(category + series_colours);
    }
    entries_.push_back({qt_colour(run.colouring.category_colour(category)), {}, text});
  }
  for (const std::uint8_t cause : causes) {
    entries_.push_back(
        {qt_colour(colours.idle[cause]),
         hatch_brush(hatch_of(static_cast<IdleCause>(cause)), qt_colour(colours.idle_lines[cause])),
         QString("idle: ") + name(static_cast<IdleCause>(cause))});
  }
  if (memory && run.memory != nullptr) {
    for (const BufferKind kind : run.memory->kinds) {
      entries_.push_back({qt_colour(memory_colour(kind)), {}, "memory: " + qt_text(name(kind))});
    }
    if (run.memory->kinds.empty()) {
      entries_.push_back({qt_colour(memory_colour(BufferKind::stash)), {}, "memory: all kinds"});
    }
  }
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

QSize RunLegend::sizeHint() const {
  return {200, static_cast<int>(entries_.size()) * legend_line + 8};
}

void RunLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  int y = 4;
  for (const Entry& entry : entries_) {
    const QRect box(6, y + 3, 22, legend_line - 6);
    painter.fillRect(box, entry.colour);
    painter.fillRect(box, entry.lines);
    painter.setPen(palette().color(QPalette::Mid));
    painter.drawRect(box);
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(QRect(36, y, width() - 38, legend_line), Qt::AlignVCenter, entry.text);
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
  if (const auto cell = cell_at(help->pos())) {
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
