#pragma once

#include <QDockWidget>
#include <QMainWindow>
#include <QPlainTextEdit>
#include <QTreeWidget>
#include <functional>
#include <vector>

#include "experiments/plan/sweeps/tables/row_table.hpp"
#include "gui/views/panels/comparison_panel.hpp"
#include "gui/views/panels/indicators.hpp"
#include "gui/views/panels/selection_panel.hpp"
#include "gui/views/window/run_changes.hpp"

namespace penstock {

/// The docks around the timeline, and the line of the status bar that tells the selection.
class RunPanels : RunController {
 public:
  RunPanels(QMainWindow& window, OpenRuns& runs, RunChanges& changes);
  const std::vector<QDockWidget*>& docks() const { return docks_; }
  TextLine& selection_line() { return *use_; }

  /// Shows the run in front in all of them.
  void refresh();
  void refresh_legend();
  void refresh_ops();
  void refresh_selection();
  /// To the clipboard.
  void copy_selection();
  /// Waits for the second thread.
  void finish() { counting_.finish(); }
  void show_sweep(const RowTable& rows);
  void raise_dock(const QString& title);
  void toggle_docks();

  std::function<void(const QString& query)> on_search;
  std::function<void(std::size_t row)> on_row;  // of a sweep

 private:
  void build_docks(RunChanges& changes);
  void count_area();
  void show_selection(const Facts& facts);
  void raise_selection();
  QDockWidget* add_dock(const QString& title, QWidget* content, Qt::DockWidgetArea area);

  QMainWindow& window_;
  std::vector<QDockWidget*> docks_;
  TextLine* use_;
  SelectionPanel* selection_;
  QPlainTextEdit* report_;
  ComparisonPanel* comparison_;
  std::vector<QTreeWidget*> tables_;  // see `run_tables`
  QTreeWidget* ops_;
  std::uint8_t ops_run_ = 0;  // whose they are
  QTreeWidget* sweep_;
  RunLegend* legend_;
  Background counting_;  // what an area holds
};

}  // namespace penstock
