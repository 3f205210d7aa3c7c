#pragma once

#include <QAction>
#include <QDockWidget>
#include <QLineEdit>
#include <QMainWindow>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QTabWidget>
#include <QTimer>
#include <QTreeWidget>
#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/plan/sweeps/tables/row_table.hpp"
#include "gui/models/drawing/runs_on_axis.hpp"
#include "gui/models/view/op_search.hpp"
#include "gui/views/canvas/canvas.hpp"
#include "gui/views/panels/indicators.hpp"
#include "gui/views/panels/scenario_panel.hpp"
#include "gui/views/panels/what_if_panel.hpp"
#include "gui/views/window/background.hpp"

namespace penstock {

/// What an undone change brings back.
struct RunBefore {
  ViewedRunPtr run;
  std::shared_ptr<const Scenario> base;
};

/// An open run, and maybe others beside it. The open one is A, unless the first of the others was
/// frozen: then that is A, and the open one is B.
struct OpenRun {
  TimelineCanvas* canvas = nullptr;
  ViewedRunPtr run;
  std::vector<ViewedRunPtr> others;      // as opened
  std::vector<RunPair> pairs;            // see RunsOnAxis
  std::shared_ptr<const Scenario> base;  // before the knobs were turned
  PairAlignment alignment = PairAlignment::start;
  std::optional<TaskId> anchor;         // of the run: both are aligned by this op
  std::vector<RunBefore> past, future;  // of changes
  RunBefore grabbed;                    // when a drag began
  TaskId carried = no_task;             // the op of it that is dragged
  ShownOps found;                       // by the last search
  std::size_t found_at = 0;
  std::vector<IdlePiece> idle;  // longest first; empty: not looked for
  std::uint8_t idle_run = 0;    // whose they are
  std::optional<std::size_t> idle_at;
};

/// The window. Each action is a method, so that the table of actions stays a table.
class ViewerWindow : public QMainWindow {
 public:
  explicit ViewerWindow(ThemeName theme);
  ~ViewerWindow() override;

  // Opening.
  void open_files_later(const QStringList& paths);
  /// Throws what reading throws.
  void open_files_now(const QStringList& paths);
  /// Shows the rows of a sweep; an activated row opens its scenario. Throws InputError.
  void open_sweep(const QString& path);
  void open_row(std::size_t row);
  void open_dialog();
  void open_example();
  void reload();
  void compare_dialog();
  /// Adds runs to those that the open one is held against. Throws what reading throws.
  void compare_with(const QStringList& paths);
  /// Opens runs, and holds the first one against the others. Throws what reading throws, and
  /// UsageError for less than two runs.
  void open_compared(const QStringList& paths);
  void close_run();
  void cancel_opening();
  void show_message(const QString& text);
  QString message() const;

  // What is open.
  OpenRun* now();
  /// The run of a timeline; null once it is closed.
  OpenRun* shown_by(const TimelineCanvas* canvas);
  TimelineCanvas* canvas();
  std::size_t count() const { return runs_.size(); }
  QAction* action(std::string_view id) const;
  ThemeName theme_name() const { return theme_; }
  WhatIfPanel& what_if() { return *what_if_; }
  ScenarioPanel& scenario_panel() { return *scenario_panel_; }
  QLineEdit& search_field() { return *search_; }
  QString status() const { return use_->text(); }
  /// Waits for all second threads.
  void finish();

  // Steps; see the table of actions.
  void step_in_lane(bool forward);
  void step_to_cause();
  void step_to_effect();
  void step_in_microbatch(bool forward);
  void step_rank(bool down);
  void step_idle(bool forward);
  void step_found(bool forward);
  void start_search();
  void run_search();
  void fit_selection();
  void follow_microbatch();
  void toggle_path();
  void toggle_slack();
  void pin_lane();
  void area_from_selection();
  void add_mark();
  void clear_all();
  void go_back(bool forward);

  // Looks.
  void cycle_theme();
  void set_theme(ThemeName name);
  void colour_by(ColourBy by);
  void toggle_transfers();
  void toggle_memory();
  void toggle_links();
  void toggle_docks();

  // Change and compare.
  void turn_knobs();
  void set_scenario(const Scenario& scenario);
  void move_op(bool later);
  void undo(bool forward);
  void freeze_reference();
  void drop_reference();
  void stack_tabs();
  void swap_runs();
  void pair_style(PairStyle style);
  void show_other_alone();
  void cycle_pair_style();
  void cycle_alignment();
  void align_by_op();
  void blink();
  void first_difference();
  void step_iteration(bool forward);

  // Files and help.
  void export_dialog();
  void export_whole_dialog();
  void export_area_dialog();
  void save_scenario_dialog();
  void save_order_dialog();
  void save_scenario(const std::string& path);
  void save_order(const std::string& path);
  void show_actions();
  void show_lanes();
  void show_help();
  void show_whole_message();

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void build_actions();
  void build_docks();
  void build_panels();
  void build_status();
  void show_tab();
  void raise_dock(const QString& title);
  QDockWidget* add_dock(const QString& title, QWidget* content, Qt::DockWidgetArea area);
  /// Opens in a second thread, where reading ends soon after `cancelled` was set.
  Background::Done opened_in_background(const QStringList& paths,
                                        const std::shared_ptr<std::atomic<bool>>& cancelled);
  void show_opening(bool is_opening);
  void add_recent(const QString& path);
  void show_recent();
  void add_run(ViewedRunPtr run);
  void replace_run(OpenRun& open, RunsOnAxis runs);
  void replace_run(OpenRun& open, ViewedRunPtr run);
  void refresh_pair(OpenRun& open);
  void show_against(OpenRun& open, std::vector<ViewedRunPtr> others, bool frozen);
  void show_on_axis(OpenRun& open, RunsOnAxis runs);
  void refresh_panels();
  void refresh_legend();
  void refresh_ops();
  void refresh_selection();
  void refresh_actions();
  /// Where a change comes from, and where its problem is shown.
  enum class Origin { knobs, editor, canvas };
  void change_run(const OpenRun& open, std::function<ViewedRunPtr()> make, Origin origin);
  void show_change_problem(const QString& problem, Origin origin);
  void remember(OpenRun& open);
  void grab_op(OpenRun& open);
  void carry(OpenRun& open, std::int64_t time, bool released);
  void move_boundary(OpenRun& open, std::uint32_t rank, int layers, bool released);
  void show_slack(OpenRun& open);
  void show_path(OpenRun& open, std::uint8_t run);
  void connect_canvas(TimelineCanvas& canvas);
  bool has_second();
  void hold_against(std::vector<ViewedRunPtr> others, bool frozen);
  void complete_run(const OpenRun& open);
  /// Waits until the run is whole.
  void complete_now(const OpenRun& open);
  void hands_rest();
  QString difference_text(const OpenRun& open) const;
  QString comparison_text(const OpenRun& open) const;
  /// Asks for a file, writes it and says so. The first kind of file is the default.
  void save_as(const QString& title, const QString& kinds,
               const std::function<void(const std::string& path)>& write);
  /// Runs something that may refuse input; shows the message then.
  void guarded(const std::function<void()>& work);
  void select(ShownOp op);

  ThemeName theme_;
  QTabWidget* tabs_;
  std::vector<OpenRun> runs_;  // by tab
  std::map<std::string, QAction*, std::less<>> actions_;
  std::vector<QDockWidget*> docks_;
  Background opening_;
  std::shared_ptr<std::atomic<bool>> cancelled_;  // of the opening that runs
  QStringList opened_next_;
  Background changing_;
  QTimer rest_;  // after the last change by hand
  QTimer blink_;
  bool turning_ = false;  // knobs, since the last rest
  QProgressBar* progress_ = nullptr;
  QMenu* recent_ = nullptr;

  QPlainTextEdit* report_ = nullptr;
  QPlainTextEdit* comparison_ = nullptr;
  ResidualMap* residuals_ = nullptr;
  QTreeWidget* idle_ = nullptr;
  QTreeWidget* path_ = nullptr;
  QTreeWidget* memory_ = nullptr;
  QTreeWidget* links_ = nullptr;
  QTreeWidget* ops_ = nullptr;
  std::uint8_t ops_run_ = 0;  // whose they are
  QTreeWidget* sweep_ = nullptr;
  RowTable swept_;
  RunLegend* legend_ = nullptr;
  WhatIfPanel* what_if_ = nullptr;
  ScenarioPanel* scenario_panel_ = nullptr;
  QLineEdit* search_ = nullptr;
  TextLine* hover_ = nullptr;
  TextLine* use_ = nullptr;
  TextLine* message_ = nullptr;
  QPushButton* cancel_ = nullptr;
};

}  // namespace penstock
