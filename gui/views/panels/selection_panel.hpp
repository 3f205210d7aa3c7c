#pragma once

#include <QTextBrowser>
#include <QTreeWidget>
#include <QWidget>
#include <functional>
#include <vector>

#include "gui/models/drawing/theme.hpp"
#include "gui/models/facts/area_facts.hpp"

namespace penstock {

/// How many ops of an area have which length.
class LengthHistogram : public QWidget {
 public:
  LengthHistogram();
  void show_row(const AreaRow& row);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  AreaRow row_;
};

/// What is selected: facts whose ops are links; of an area also a table, and the lengths of what
/// the current row counts.
class SelectionPanel : public QWidget {
 public:
  SelectionPanel();
  void show_facts(const Facts& facts, const Theme& theme);
  /// `time`: of the area on all its ranks, in picoseconds; `compared`: "B − A", or empty if there
  /// is no other run.
  void show_rows(std::vector<AreaRow> rows, double time, const QString& compared);
  void hide_rows();
  /// Those that are there are of another area: they are dimmed until the next are shown.
  void wait_for_rows();
  /// To paste elsewhere.
  QString text() const;

  std::function<void(ShownOp)> on_op;  // that a link leads to

 private:
  void show_lengths();

  QTextBrowser* facts_;
  QTreeWidget* table_;
  LengthHistogram* lengths_;
  std::vector<AreaRow> rows_;
};

}  // namespace penstock
