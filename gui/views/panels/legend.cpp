#include "gui/views/panels/legend.hpp"

#include <QPainter>
#include <set>

#include "experiments/show/pictures/lanes/timeline_legend.hpp"
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
    entries_.push_back({qt_colour(colours.idle[cause]), qt_colour(colours.idle_lines[cause]),
                        QString("idle: ") + name(static_cast<IdleCause>(cause))});
  }
  if (memory && run.memory != nullptr) {
    for (const BufferKind kind : run.memory->kinds) {
      entries_.push_back({qt_colour(memory_colour(kind)), {}, "memory: " + qt_text(name(kind))});
    }
    if (run.memory->kinds.empty()) {
      entries_.push_back({qt_colour(series_colour(0)), {}, "memory: all kinds"});
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
    if (entry.lines.isValid()) painter.fillRect(box, QBrush(entry.lines, Qt::BDiagPattern));
    painter.setPen(palette().color(QPalette::Mid));
    painter.drawRect(box);
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(QRect(36, y, width() - 38, legend_line), Qt::AlignVCenter, entry.text);
    y += legend_line;
  }
}

}  // namespace penstock
