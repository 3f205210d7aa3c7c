#pragma once

#include <QLabel>
#include <functional>

namespace penstock {

/// One line of text. What does not fit is cut off with an ellipsis, so its size never depends on
/// the text; the pointer shows all of it, and a click calls `on_click`.
class TextLine : public QLabel {
 public:
  explicit TextLine(const QString& accessible_name);
  void set_text(const QString& text);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {10, sizeHint().height()}; }

  std::function<void()> on_click;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
};

}  // namespace penstock
