#pragma once

#include <QWidget>
#include <functional>
#include <vector>

#include "gui/models/run/figures.hpp"

namespace penstock {

/// The figures of a run in large digits, each with its difference to A. A click on one leads to
/// more about it.
class FigureBar : public QWidget {
 public:
  FigureBar();
  /// Unknown figures are left out; those that are unknown only while a hand changes the run stay,
  /// pale. `of_run`: " of B", or empty where there is one run.
  void show_figures(const std::array<Figure, figure_count>& figures, bool brief,
                    const QString& of_run);
  void clear();
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

  std::function<void(FigureKind)> on_click;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Shown {
    FigureKind kind;
    QString name, value, difference;
    bool overflows = false, stale = false;
  };
  QFont large_font() const;
  QFont small_font() const;
  int width_of(const Shown& figure) const;
  const Shown* at(QPoint point) const;
  void paint_figure(QPainter& painter, const Shown& figure, int left) const;
  void changed();

  std::vector<Shown> shown_;
};

}  // namespace penstock
