#pragma once

#include <optional>
#include <vector>

#include "gui/models/drawing/painted_run.hpp"
#include "gui/models/run/run_pair.hpp"

namespace penstock {

/// What a run is shown with.
struct ShownWith {
  std::vector<ViewedRunPtr> others;  // that it is held against, as opened
  PairAlignment alignment = PairAlignment::start;
  std::optional<TaskId> anchor;  // of the run: all are aligned by this op
  bool memory = false;
  bool links = false;
  friend bool operator==(const ShownWith&, const ShownWith&) = default;
};

/// A run and those that it is held against, on its time axis.
struct RunsOnAxis {
  PaintedRunPtr first;
  std::vector<PaintedRunPtr> others;
  std::vector<RunPair> pairs;  // the first with each of them
};

/// Compares and paints, which may take long. Throws what `pair_of` throws.
RunsOnAxis on_one_axis(PaintedRunPtr first, const ShownWith& with);

}  // namespace penstock
