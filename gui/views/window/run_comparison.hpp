#pragma once

#include <QTimer>
#include <functional>
#include <vector>

#include "gui/views/window/run_changes.hpp"

namespace penstock {

/// The runs that the one in front is held against, and how they stand beside it.
class RunComparison : RunController {
 public:
  RunComparison(OpenRuns& runs, RunChanges& changes);

  void freeze_reference();
  void drop_reference();
  void hold_against(std::vector<ViewedRunPtr> others, bool frozen);
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

  std::function<void()> on_held;  // against other runs than before

 private:
  bool has_second();

  RunChanges& changes_;
  QTimer blink_;
};

}  // namespace penstock
