#pragma once

#include <QPlainTextEdit>
#include <QTreeWidget>
#include <QWidget>
#include <functional>
#include <vector>

#include "gui/models/drawing/lane_rows.hpp"
#include "gui/models/run/run_pair.hpp"
#include "gui/views/panels/indicators.hpp"

namespace penstock {

/// A run that is held against A.
struct ShownPair {
  const RunPair* pair;
  std::uint8_t now;  // the number of the run that is held against A
  char letter;       // and its letter
};

/// How runs differ from A: by kind, cause, rank and link, as `penstock compare` reports it, and as
/// a map of durations; and a list of the ops that moved most by cause, which has a place of its
/// own.
class ComparisonPanel : public QWidget {
 public:
  ComparisonPanel();
  void show_pairs(const std::vector<ShownPair>& pairs);
  QTreeWidget* moved() { return moved_; }

  std::function<void(ShownOp)> on_op;
  std::function<void(std::size_t stage, std::size_t microbatch)> on_cell;  // of the map

 private:
  void fill_changes(const std::vector<ShownPair>& pairs);
  void fill_moved(const std::vector<ShownPair>& pairs);

  QTreeWidget* changes_;
  QTreeWidget* moved_;
  QPlainTextEdit* report_;
  ResidualMap* residuals_;
};

}  // namespace penstock
