#pragma once

#include <QTabWidget>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "gui/models/drawing/painted_run.hpp"
#include "gui/models/drawing/shown_runs.hpp"
#include "gui/models/view/op_steps.hpp"
#include "gui/views/canvas/background.hpp"
#include "gui/views/canvas/canvas.hpp"

namespace penstock {

/// What an undone change brings back: a scenario to simulate, with the order that a hand made. The
/// run itself is kept while there is room for it, and always where there is no scenario.
struct RunBefore {
  std::shared_ptr<const Scenario> scenario;
  std::shared_ptr<const Layout> layout;  // nullptr: that of the scenario
  ViewedRunPtr run;                      // nullptr: simulated anew
};

/// What was changed of a run; see RunChanges.
struct ChangesOfRun {
  std::vector<std::string> settings;     // of a row of a sweep, over the scenario of its file
  std::shared_ptr<const Scenario> base;  // before the knobs were turned
  std::vector<RunBefore> past, future;
  ViewedRunPtr grabbed;      // when a drag began
  TaskId carried = no_task;  // the op of it that is dragged
};

struct OpenRun;

/// What an open run is to show once it is made.
struct WishOfRun {
  /// Called when it is shown, or with what was wrong; never for a run that is closed.
  using Then = std::function<void(OpenRun& open, const QString& problem)>;

  WishedRuns runs;
  std::vector<Then> then;
  bool due = false;          // not begun
  std::uint64_t number = 0;  // of what was wished since the last change was taken back
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
  bool slack = false;            // is shown
  ChangesOfRun changes;
  ViewedRunPtr swapped;  // the run that was last put among the others
  ChangesOfRun changes_of_swapped;
  StepsOfRun steps;
  WishOfRun wish;
};

inline constexpr const char* too_low_for_ops =
    "Lanes are too low for ops: make them taller with Ctrl+=";

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
  void add(const PaintedRunPtr& run);
  void close();

  // What follows is made in a second thread; what was wished before and is not shown yet is shown
  // with it. Leaves all as it was where that is not possible.

  /// Shows another run in the place of an open one, with the same beside it.
  void replace(OpenRun& open, std::function<ViewedRunPtr()> make, WishOfRun::Then then);
  /// Shows a run, or the one that `make` gives, with others or otherwise.
  void change_shown(OpenRun& open, const std::function<void(ShownWith&)>& change,
                    WishOfRun::Then then = {}, std::function<ViewedRunPtr()> make = {});
  /// Holds a run, once it is whole, against itself as it is now.
  void freeze(OpenRun& open, WishOfRun::Then then);
  /// Drops what is wished of an open run and not shown yet.
  void take_back(OpenRun& open);
  /// Reads the part of a large file that is in sight, where its ops can be told apart.
  void follow_view(OpenRun& open);
  /// Whether another run is being made in the place of an open one.
  bool makes_run(const OpenRun& open) const;
  /// The same, or more of it.
  bool is_stale(const OpenRun& open) const { return open.run->brief || makes_run(open); }
  void finish();
  /// What every second thread of the window calls.
  void working(bool begins);
  bool busy() const { return working_ > 0; }

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
  /// Says why nothing of ops or memory is seen, where lanes are heat.
  void say_if_heat(const TimelineCanvas& shown);
  /// What was said last.
  const QString& message() const { return message_; }
  /// Runs something that may refuse input; shows the message then.
  void guarded(const std::function<void()>& work);

  std::uint64_t most_in_part = 2'000'000;  // tasks that are read of a large file at once

  std::function<void(TimelineCanvas&)> on_canvas;  // a new one
  std::function<void()> on_change;                 // another run is in front, or it is another
  std::function<void()> on_selection;
  std::function<void()> on_look;  // colours
  std::function<void()> on_busy;  // work in a second thread began or ended
  std::function<void(const QString&)> on_message;

 private:
  void add_empty();
  static ShownWith shown_with(const OpenRun& open);
  ShownWith& wished(OpenRun& open);
  void want(OpenRun& open, WishOfRun::Then then);
  void make_next();
  ShownRuns shown_now(const OpenRun& open) const;
  void show(OpenRun& open, ShownRuns made);
  void show_part(OpenRun& open, const PaintedRunPtr& part);

  QTabWidget& tabs_;
  std::vector<OpenRun> runs_;  // by tab
  ThemeName theme_;
  QString message_;
  bool keeps_marks_ = false;
  int working_ = 0;
  const TimelineCanvas* making_of_ = nullptr;
  bool makes_run_ = false;  // another one
  Background making_{[this](bool begins) { working(begins); }};
  Background reading_{[this](bool begins) { working(begins); }};  // of parts
};

/// What acts on the run in front.
class RunController {
 protected:
  explicit RunController(OpenRuns& runs) : runs_(runs) {}
  ~RunController() = default;
  OpenRun* now() const { return runs_.now(); }
  TimelineCanvas* canvas() const { return runs_.canvas(); }
  void show_message(const QString& text) const { runs_.say(text); }
  /// Shows a message, or what was wrong.
  WishOfRun::Then saying(const QString& text) const {
    return [this, text](OpenRun&, const QString& problem) {
      show_message(problem.isEmpty() ? text : problem);
    };
  }
  std::function<void(bool)> tells_busy() {
    return [this](bool begins) { runs_.working(begins); };
  }

  OpenRuns& runs_;
};

}  // namespace penstock
