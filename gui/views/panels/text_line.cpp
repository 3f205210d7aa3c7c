#include "gui/views/panels/text_line.hpp"

#include <QMouseEvent>
#include <QPainter>

namespace penstock {

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
