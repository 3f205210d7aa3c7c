#pragma once

#include <QObject>
#include <QTabWidget>
#include <QThreadPool>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "gui/models/drawing/painted_run.hpp"
#include "gui/models/view/op_steps.hpp"
#include "gui/views/canvas/canvas.hpp"

namespace penstock {

/// What an undone change brings back.
struct RunBefore {
  ViewedRunPtr run;
  std::shared_ptr<const Scenario> base;
};

/// What was changed of a run; see RunChanges.
struct ChangesOfRun {
  std::shared_ptr<const Scenario> base;  // before the knobs were turned
  std::vector<RunBefore> past, future;
  RunBefore grabbed;         // when a drag began
  TaskId carried = no_task;  // the op of it that is dragged
};

/// Where steps through a run have come; see RunSteps.
struct StepsOfRun {
  ShownOps found;  // by the last search
  std::size_t found_at = 0;
  std::vector<IdlePiece> idle;  // longest first; empty: not looked for
  std::uint8_t idle_run = 0;    // whose they are
  std::optional<std::size_t> idle_at;
};

/// An open run, and maybe others beside it. The open one is A, unless the first of the others was
/// frozen: then that is A, and the open one is B.
struct OpenRun {
  TimelineCanvas* canvas = nullptr;
  ViewedRunPtr run;
  std::vector<ViewedRunPtr> others;  // as opened
  std::vector<RunPair> pairs;        // see RunsOnAxis
  PairAlignment alignment = PairAlignment::start;
  std::optional<TaskId> anchor;  // of the run: both are aligned by this op
  ChangesOfRun changes;
  StepsOfRun steps;
};

/// The open runs, a tab each, and what is shown beside them and of them.
class OpenRuns {
 public:
  OpenRuns(QTabWidget& tabs, ThemeName theme);

  /// That of the tab in front; nullptr: nothing is open.
  OpenRun* now();
  /// The run of a timeline; nullptr once it is closed.
  OpenRun* shown_by(const TimelineCanvas* canvas);
  TimelineCanvas* canvas();
  const std::vector<OpenRun>& all() const { return runs_; }
  ThemeName theme_name() const { return theme_; }
  /// From now on, marks of runs are taken up from the settings, and kept there.
  void keep_marks() { keeps_marks_ = true; }
  void remember_marks_of(const OpenRun& open) const;

  /// Opens a tab in front.
  void add(ViewedRunPtr run);
  void close();
  /// Shows another run in the place of an open one, with the same beside it.
  void replace(OpenRun& open, ViewedRunPtr run);
  void replace(OpenRun& open, RunsOnAxis runs);
  /// Holds a run against others. Leaves all as it was if they cannot be compared.
  void show_against(OpenRun& open, std::vector<ViewedRunPtr> others, bool frozen);
  /// After another alignment.
  void refresh_pair(OpenRun& open);
  static ShownWith shown_with(const OpenRun& open);

  void show_slack(OpenRun& open);
  void show_path(OpenRun& open, std::uint8_t run);
  /// Selects an op and scrolls to it; nothing happens where there is none.
  void select(ShownOp op);
  void colour_by(ColourBy by);
  void toggle_transfers();
  void toggle_memory();
  void toggle_links();
  void set_theme(ThemeName name);
  void add_to_name(const QString& text);  // of the tab in front
  void say(const QString& text);
  /// What was said last.
  const QString& message() const { return message_; }
  /// Runs something that may refuse input; shows the message then.
  void guarded(const std::function<void()>& work);

  std::function<void(TimelineCanvas&)> on_canvas;  // a new one
  std::function<void()> on_change;                 // another run is in front, or it is another
  std::function<void()> on_selection;
  std::function<void()> on_look;  // colours
  std::function<void(const QString&)> on_message;

 private:
  void add_empty();
  void show_on_axis(OpenRun& open, RunsOnAxis runs);

  QTabWidget& tabs_;
  std::vector<OpenRun> runs_;  // by tab
  ThemeName theme_;
  QString message_;
  bool keeps_marks_ = false;
};

/// What acts on the run in front.
class RunController {
 protected:
  explicit RunController(OpenRuns& runs) : runs_(runs) {}
  ~RunController() = default;
  OpenRun* now() const { return runs_.now(); }
  TimelineCanvas* canvas() const { return runs_.canvas(); }
  void show_message(const QString& text) const { runs_.say(text); }

  OpenRuns& runs_;
};

/// Work for a second thread, one at a time: while it runs, only the newest request is kept. Results
/// come back in the interface's thread. Quick work runs at once.
class Background : public QObject {
 public:
  using Done = std::function<void()>;
  /// Runs in the second thread; what it returns runs in the interface's thread.
  using Work = std::function<Done()>;

  explicit Background(QObject* parent = nullptr) : QObject(parent) {}
  ~Background() override;

  /// `at_once_below_ms`: runs now if the last work took less.
  void request(Work work, double at_once_below_ms);
  /// Forgets what runs and what waits: their results are dropped.
  void cancel();
  /// Waits until nothing runs or waits; results have arrived then, and nothing else has happened.
  void finish();

 private:
  void start(Work work);
  void ended(std::uint64_t number, double ms, const Done& done);

  QThreadPool pool_;
  bool running_ = false;
  std::uint64_t number_ = 0;
  Work waiting_;
  double last_ms_ = 0;
};

}  // namespace penstock
