#pragma once

#include <QLabel>
#include <functional>

namespace penstock {

/// One line of text. It takes the room of its text where there is some; what does not fit is cut
/// off with an ellipsis. The pointer shows all of it, and a click calls `on_click`.
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

 private:
  QString line() const;
};

}  // namespace penstock
