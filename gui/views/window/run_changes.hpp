#pragma once

#include <QTimer>
#include <functional>

#include "gui/views/panels/change_panels.hpp"
#include "gui/views/window/open_runs.hpp"

namespace penstock {

/// Changes of runs, by knobs, by the editor or by hand, and their undoing. While a hand moves, runs
/// are brief; once it rests they are completed.
class RunChanges : RunController {
 public:
  explicit RunChanges(OpenRuns& runs);
  WhatIfPanel& what_if() { return *what_if_; }
  ScenarioPanel& scenario_panel() { return *scenario_panel_; }

  /// The knobs of the tab that came in front begin at the run that it shows.
  void show_tab();
  /// The editor has the text of the run in front.
  void show_text();
  void turn_knobs();
  void set_scenario(std::shared_ptr<const Scenario> scenario);
  void set_scenario(const Scenario& scenario) {
    set_scenario(std::make_shared<const Scenario>(scenario));
  }
  /// Puts a run that was read again in the place of an open one; the one before can be undone to.
  void read_again(OpenRun& open, std::function<ViewedRunPtr()> read);
  /// The run in front and the first of the others have changed places: each keeps its undo steps.
  void follow_swap(OpenRun& open);
  void undo(bool forward);
  void move_op(bool later);
  void hands_rest();
  /// Waits for the second thread, and until the run in front is whole.
  void finish();

  std::size_t most_bytes = std::size_t{128} << 20;  // of what undoing brings back

  // The op or the boundary that a hand drags; `released`: for the last time.
  void grab_op(OpenRun& open);
  void carry(OpenRun& open, std::int64_t time, bool released);
  void move_boundary(OpenRun& open, std::uint32_t rank, int layers, bool released);

 private:
  /// Where a change comes from, and where its problem is shown. The rest of a hand changes nothing:
  /// what was refused before it stays so.
  enum class Origin { knobs, editor, canvas, rest };

  /// The knobs begin at a run as it is now, or at another scenario.
  void begin_at(OpenRun& open);
  void begin_at(OpenRun& open, std::shared_ptr<const Scenario> base);
  using Then = WishOfRun::Then;
  void change_run(OpenRun& open, std::function<ViewedRunPtr()> make, Origin origin, Then then = {});
  Then saying_order_dropped(const OpenRun& open) const;
  void show_change_problem(const QString& problem, Origin origin);
  void remember(OpenRun& open, RunBefore before);
  void end_drag(OpenRun& open, const ViewedRunPtr& from);

  WhatIfPanel* what_if_;
  ScenarioPanel* scenario_panel_;
  std::shared_ptr<Chain> chain_;  // of all changes since the knobs began; one uses it at a time
  QTimer rest_;                   // after the last change by hand
  bool turning_ = false;          // knobs, since the last rest
};

}  // namespace penstock
