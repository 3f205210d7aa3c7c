#include "gui/views/panels/figure_bar.hpp"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr int between = 20;  // figures
constexpr int beside = 6;    // a value and its difference

}  // namespace

FigureBar::FigureBar() {
  setAccessibleName("Key figures");
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  setCursor(Qt::PointingHandCursor);
}

void FigureBar::show_figures(const std::array<Figure, figure_count>& figures, bool brief,
                             const QString& of_run) {
  const std::vector<Shown> before = std::exchange(shown_, {});
  for (const Figure& figure : figures) {
    Shown next{figure.kind, qt_text(figure.name) + of_run, qt_text(figure.value),
               qt_text(figure.difference), figure.overflows};
    const auto known = std::find_if(before.begin(), before.end(),
                                    [&](const Shown& each) { return each.kind == figure.kind; });
    if (next.value.isEmpty() && brief && known != before.end()) {
      next = *known;
      next.stale = true;
    }
    if (!next.value.isEmpty()) shown_.push_back(next);
  }
  changed();
}

void FigureBar::clear() {
  shown_.clear();
  changed();
}

void FigureBar::changed() {
  QStringList words;
  for (const Shown& figure : shown_) {
    words << figure.name + " " + figure.value;
    if (!figure.difference.isEmpty()) words.back() += " (" + figure.difference + ")";
  }
  setAccessibleDescription(words.join(", "));
  updateGeometry();
  update();
}

QFont FigureBar::large_font() const {
  QFont large = font();
  large.setPointSizeF(font().pointSizeF() * 1.6);
  large.setBold(true);
  return large;
}

QFont FigureBar::small_font() const {
  QFont small = font();
  small.setPointSizeF(9);
  return small;
}

int FigureBar::width_of(const Shown& figure) const {
  const QFontMetrics small(small_font());
  int wide = QFontMetrics(large_font()).horizontalAdvance(figure.value);
  if (!figure.difference.isEmpty()) {
    wide += beside + small.horizontalAdvance(figure.difference);
  }
  return std::max(wide, small.horizontalAdvance(figure.name));
}

QSize FigureBar::sizeHint() const {
  int wide = 8;
  for (const Shown& figure : shown_) wide += width_of(figure) + between;
  return {wide, QFontMetrics(large_font()).height() + QFontMetrics(small_font()).height()};
}

const FigureBar::Shown* FigureBar::at(QPoint point) const {
  int left = 8;
  for (const Shown& figure : shown_) {
    const int right = left + width_of(figure);
    if (point.x() >= left - between / 2 && point.x() < right + between / 2) return &figure;
    left = right + between;
  }
  return nullptr;
}

void FigureBar::paint_figure(QPainter& painter, const Shown& figure, int left) const {
  const QFontMetrics large(large_font());
  const QColor faint = palette().color(QPalette::PlaceholderText);
  painter.setFont(large_font());
  painter.setPen(figure.stale       ? faint
                 : figure.overflows ? palette().color(QPalette::BrightText)
                                    : palette().color(QPalette::WindowText));
  painter.drawText(left, large.ascent(), figure.value);
  painter.setFont(small_font());
  if (!figure.difference.isEmpty()) {
    painter.drawText(left + large.horizontalAdvance(figure.value) + beside, large.ascent(),
                     figure.difference);
  }
  painter.setPen(faint);
  painter.drawText(left, large.height() + QFontMetrics(small_font()).ascent(), figure.name);
}

void FigureBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  int left = 8;
  for (const Shown& figure : shown_) {
    paint_figure(painter, figure, left);
    left += width_of(figure) + between;
  }
}

void FigureBar::mouseReleaseEvent(QMouseEvent* event) {
  const Shown* const figure = at(event->pos());
  if (figure != nullptr && on_click) on_click(figure->kind);
}

bool FigureBar::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const Shown* const figure = at(help->pos());
  if (figure == nullptr) return true;
  QString text = figure->name + ": " + figure->value;
  if (!figure->difference.isEmpty()) text += "\n" + figure->difference + " against A";
  if (figure->overflows) text += "\nmore than a rank has";
  if (figure->stale) text += "\nof the run before this change";
  QToolTip::showText(help->globalPos(), text, this);
  return true;
}

}  // namespace penstock
