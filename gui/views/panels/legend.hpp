#pragma once

#include <QWidget>
#include <vector>

#include "gui/models/drawing/painted_run.hpp"
#include "gui/models/drawing/theme.hpp"

namespace penstock {

/// What the colours of the canvas mean.
class RunLegend : public QWidget {
 public:
  explicit RunLegend(QWidget* parent = nullptr);
  /// All that occurs in some runs, of which the first is A. `memory`: with its kinds.
  void show_runs(const std::vector<PaintedRunPtr>& runs, ThemeName theme, bool memory);
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Entry {
    QColor colour;
    QColor lines;  // of hatching; invalid without
    QString text;
  };
  std::vector<Entry> entries_;
};

}  // namespace penstock
