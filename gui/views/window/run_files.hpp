#pragma once

#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "experiments/plan/sweeps/tables/row_table.hpp"
#include "gui/models/run/remedy.hpp"
#include "gui/views/window/run_comparison.hpp"

namespace penstock {

/// Opening and saving.
class RunFiles : RunController {
 public:
  RunFiles(QWidget& window, OpenRuns& runs, RunChanges& changes, RunComparison& comparison);
  ~RunFiles();
  // Of the status bar and the menu.
  QProgressBar& progress() { return *progress_; }
  QPushButton& cancel() { return *cancel_; }
  QMenu& recent() { return *recent_; }

  /// Opens in a second thread, which says what was wrong; everything else throws what reading
  /// throws.
  void open_files_later(const QStringList& all);
  void open_files_now(const QStringList& paths);
  /// Opens runs, and holds the first one against the others. Throws UsageError for less than two.
  void open_compared(const QStringList& paths);
  /// Adds runs to those that the open one is held against, once they are read.
  void compare_with(const QStringList& paths);
  /// Shows the rows of a sweep; an activated row opens its scenario.
  void open_sweep(const QString& path);
  void open_row(std::size_t row);
  void open_dialog();
  void compare_dialog();
  void open_example();
  void reload();
  void cancel_opening();
  void export_dialog();
  void export_whole_dialog();
  void export_area_dialog();
  void save_scenario_dialog();
  void save_order_dialog();
  void save_scenario(const std::string& path);
  void save_order(const std::string& path);
  /// Waits for the second threads.
  void finish() {
    opening_.finish();
    writing_.finish();
  }

  std::function<void(const RowTable&)> on_sweep;
  // Files could not be opened, and `mend` does what helps; or they could, without a problem.
  std::function<void(const QString& problem, const QString& remedy, std::function<void()> mend)>
      on_problem;

 private:
  using OnRuns = std::function<void(std::vector<PaintedRunPtr> runs)>;
  using OnProgress = std::function<void(double share)>;

  /// Makes runs in the second thread, where reading ends soon after `cancelled` was set. One after
  /// the other. The status bar shows `what`, else the files.
  void open_later(const QStringList& paths,
                  std::function<std::vector<ViewedRunPtr>(OnProgress)> read, OnRuns then,
                  const QString& what = {});
  OnProgress progress_of(const std::shared_ptr<std::atomic<bool>>& cancelled);
  void show_opening(bool is_opening);
  void mend(const Remedy& remedy, const QStringList& paths);
  void show_recent();
  /// Asks for a file and calls `write`. The first kind of file is the default.
  void save_as(const QString& title, const QString& kinds,
               const std::function<void(const std::string& path)>& write);
  /// Writes in a second thread, and says so; `write` returns what else there is to say.
  void write_later(const std::string& path, std::function<std::string()> write);

  QWidget& window_;
  RunChanges& changes_;
  RunComparison& comparison_;
  QProgressBar* progress_;
  QPushButton* cancel_;
  QMenu* recent_;
  Background opening_, writing_;
  std::shared_ptr<std::atomic<bool>> cancelled_;    // of the opening that runs
  std::vector<std::function<void()>> opened_next_;  // while it runs
  RowTable swept_;
};

}  // namespace penstock
