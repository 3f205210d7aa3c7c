#pragma once

#include <QLineEdit>
#include <functional>

#include "gui/views/window/open_runs.hpp"

namespace penstock {

/// Steps from op to op, searches, and what is marked on the run in front.
class RunSteps : RunController {
 public:
  explicit RunSteps(OpenRuns& runs);
  /// Of the tool bar.
  QLineEdit& search_field() { return *search_; }

  void step_in_lane(bool forward);
  void step_to_cause();
  void step_to_effect();
  void step_on_path(bool forward);
  void step_in_microbatch(bool forward);
  void step_rank(bool down);
  void show_memory();
  void step_idle(bool forward);
  void start_search();
  void run_search();
  void step_found(bool forward);
  void fit_selection();
  void follow_microbatch();
  void toggle_path();
  void area_from_selection();
  void add_mark();
  void clear_all();
  void go_back(bool forward);
  void toggle_slack();
  void pin_lane();
  /// Waits for the second thread.
  void finish() { looking_.finish(); }

  std::function<void()> on_area;  // was made from the selection

 private:
  ShownOp op_in_hand() const;
  const MemoryLane& lane_of_memory() const;
  ShownOp op_of_memory(bool at_end) const;
  void show_op_of_memory(bool at_end);
  void select_memory(const HeldMemory& step, std::uint32_t rank, std::uint8_t run);
  void step_in_memory(bool forward);
  void step(const std::function<TaskId(const OpSteps&, TaskId)>& next);
  /// Looks through a run in the second thread; `then` takes what was found if the run is still
  /// shown.
  template <class Look, class Then>
  void look(std::uint8_t run, Look look, Then then);
  void show_idle(bool forward);
  void show_found(OpenRun& open, ShownOps found, bool searched = true);

  QLineEdit* search_;
  Background looking_;
};

}  // namespace penstock
