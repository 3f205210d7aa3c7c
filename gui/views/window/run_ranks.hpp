#pragma once

#include <QWidget>

#include "gui/views/window/open_runs.hpp"

namespace penstock {

/// Which ranks of the run in front are shown, and in which order.
class RunRanks : RunController {
 public:
  RunRanks(QWidget& window, OpenRuns& runs) : RunController(runs), window_(window) {}

  void show_all();
  void cycle_sort();
  /// Asks for a filter, which is in force while it is written.
  void ask_filter();
  /// Throws what `read_rank_filter` throws, and UsageError if it leaves no rank.
  void filter(const QString& text);
  void toggle_folded();
  void toggle_heat();

 private:
  void set_order(const RankOrder& order);

  QWidget& window_;
};

}  // namespace penstock
