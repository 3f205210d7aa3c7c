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
  /// What there may be beside ops and idle time.
  struct Beside {
    bool memory = false;
    bool differences = false;
  };
  void show_run(const PaintedRun& run, ThemeName theme, Beside beside);
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
