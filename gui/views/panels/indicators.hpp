#pragma once

#include <QLabel>
#include <QWidget>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gui/models/drawing/lane_rows.hpp"
#include "gui/models/drawing/painted_run.hpp"
#include "gui/models/drawing/theme.hpp"

namespace penstock {

/// What the colours of the canvas mean.
class RunLegend : public QWidget {
 public:
  explicit RunLegend(QWidget* parent = nullptr);
  /// All that occurs in some runs, of which the first is A, and is drawn in some rows.
  void show_runs(const std::vector<PaintedRunPtr>& runs, ThemeName theme,
                 const std::vector<LaneRow>& rows);
  bool shows_heat() const { return heat_; }
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Entry {
    QColor colour;
    QBrush lines;  // of a hatch
    QString text;
    std::vector<QColor> shades{};  // in the place of the colour, of heat
    QColor ticks{};                // in its corner, if valid
  };
  void add_ops(const PaintedRun& run, const Theme& colours,
               const std::set<std::uint8_t>& categories);
  void add_causes(const PaintedRun& run, const Theme& colours,
                  const std::set<std::uint8_t>& causes);
  void add_heat(const PaintedRun& run, const Theme& colours, const std::set<std::uint8_t>& causes);
  void add_memory(const RunMemory& memory);
  void paint_scale(QPainter& painter, int y) const;

  std::vector<Entry> entries_;
  bool heat_ = false;
};

/// Relative differences of durations by stage (down) and microbatch (across): orange where the
/// second run is slower, violet where it is faster. A click calls `on_cell`.
class ResidualMap : public QWidget {
 public:
  explicit ResidualMap(QWidget* parent = nullptr);
  /// `without` says why there are none.
  void show_residuals(std::vector<std::vector<double>> residuals, const QString& without);

  std::function<void(std::size_t stage, std::size_t microbatch)> on_cell;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  std::pair<double, double> cell_size() const;
  /// Stage and microbatch.
  std::optional<std::pair<std::size_t, std::size_t>> cell_at(QPointF point) const;

  std::vector<std::vector<double>> residuals_;
  QString without_ = "No second run";
  double largest_ = 0;
};

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
