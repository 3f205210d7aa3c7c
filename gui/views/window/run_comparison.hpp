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
  /// Replaces the runs beside an open one, and says so. Throws UsageError for too many.
  void hold_against(OpenRun& open, std::vector<ViewedRunPtr> others, bool frozen,
                    const QString& message = {});
  /// Holds the run in front against those of all other tabs.
  void stack_tabs();
  void swap_runs();
  void pair_style(PairStyle style);
  /// B alone; once more, the next one.
  void show_other_alone();
  void cycle_pair_style();
  void cycle_alignment();
  void align_by_op();
  /// Shows A and the others in turn; once more, no longer.
  void blink();
  void first_difference();
  /// With B aligned by iteration, both go on.
  void step_iteration(bool forward);

  std::function<void()> on_held;  // against other runs than before

 private:
  /// Says so if there is none.
  bool has_second();
  /// By a value of PairAlignment; by start where that is not possible.
  void align(OpenRun& open, std::size_t alignment, const QString& after = {});

  RunChanges& changes_;
  QTimer blink_;
};

}  // namespace penstock
