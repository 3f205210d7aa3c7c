#pragma once

#include <QMainWindow>
#include <QPlainTextEdit>
#include <functional>
#include <vector>

#include "experiments/plan/sweeps/tables/row_table.hpp"
#include "gui/views/panels/comparison_panel.hpp"
#include "gui/views/panels/figure_bar.hpp"
#include "gui/views/panels/indicators.hpp"
#include "gui/views/panels/selection_panel.hpp"
#include "gui/views/panels/sweep_panel.hpp"
#include "gui/views/panels/table_panel.hpp"
#include "gui/views/window/panel_strip.hpp"
#include "gui/views/window/run_changes.hpp"

namespace penstock {

/// The docks around the timeline, and the line of the status bar that tells the selection.
class RunPanels : RunController {
 public:
  RunPanels(QMainWindow& window, OpenRuns& runs, RunChanges& changes);
  PanelStrip& strip() { return *strip_; }
  FigureBar& figures() { return *figures_; }
  TextLine& selection_line() { return *use_; }

  /// Shows the run in front in all of them.
  void refresh();
  void refresh_legend();
  /// The legend, where lanes have become rows of heat or are none any more.
  void refresh_heat();
  void refresh_ops();
  void refresh_selection();
  /// To the clipboard.
  void copy_selection();
  /// Numbers of a run that is being replaced are pale.
  void refresh_stale();
  /// Waits for the second thread.
  void finish() { counting_.finish(); }
  void show_sweep(const RowTable& rows);

  std::function<void(const QString& query)> on_search;
  std::function<void(std::size_t row)> on_row;  // of a sweep

 private:
  void build_docks(RunChanges& changes);
  void refresh_figures(const OpenRun& open);
  void go_to(const RowPlace& place);
  void count_area();
  void hide_counts();
  void show_selection(const Facts& facts);

  PanelStrip* strip_;
  FigureBar* figures_;
  TextLine* use_;
  SelectionPanel* selection_;
  QPlainTextEdit* report_;
  ComparisonPanel* comparison_;
  std::vector<TablePanel*> tables_;  // see `run_tables`
  TablePanel* ops_;
  std::uint8_t ops_run_ = 0;  // whose they are
  SweepPanel* sweep_;
  RunLegend* legend_;
  bool stale_ = false;
  Background counting_;  // what an area holds
};

}  // namespace penstock
