#pragma once

#include <QWidget>
#include <functional>
#include <optional>

#include "gui/views/panels/tables.hpp"

namespace penstock {

/// Rows of a sweep as points: one of its columns over another one.
class SweepPlot : public QWidget {
 public:
  SweepPlot();
  void show_sweep(const RowTable* rows);
  /// Columns of the table; a column of words has them side by side.
  void set_axes(std::size_t x, std::size_t y);
  /// Points have a colour for each value of this column; nothing: one for all.
  void set_colours(std::optional<std::size_t> column);
  void mark(std::optional<std::size_t> row);
  /// The row of the nearest point within reach.
  std::optional<std::size_t> row_at(QPointF point) const;
  /// Where the point of a row stands, if it has one.
  std::optional<QPointF> place_of(std::size_t row) const;

  std::function<void(std::size_t row)> on_pick;  // a click
  std::function<void(std::size_t row)> on_open;  // a double click

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  /// What stands along a side.
  struct Axis {
    std::size_t column = 0;
    double least = 0, most = 1;
    QStringList words;  // of a column without numbers
    QString label;
  };
  Axis axis_of(std::size_t column) const;
  std::optional<double> value_of(std::size_t row, const Axis& axis) const;
  QString text_of(std::size_t row, const Axis& axis) const;
  QRectF field() const;
  void paint_axes(QPainter& painter) const;
  void paint_names(QPainter& painter) const;

  const RowTable* rows_ = nullptr;
  Axis x_, y_;
  std::optional<std::size_t> coloured_;  // the column
  QStringList names_;                    // the values of that
  std::optional<std::size_t> marked_;
};

/// The rows of a sweep as a list, and beside it as points. Both lead to a row: a click marks it in
/// both, Enter or a double click opens it.
class SweepPanel : public QWidget {
 public:
  SweepPanel();
  void show_sweep(const RowTable& rows);
  SweepPlot& plot() { return *plot_; }

  std::function<void(std::size_t row)> on_row;

 private:
  void fill_choices();
  void choose();
  void mark(std::size_t row);

  RowTable rows_;
  TablePanel* list_;
  SweepPlot* plot_;
  QComboBox* x_;
  QComboBox* y_;
  QComboBox* colour_;
};

}  // namespace penstock
