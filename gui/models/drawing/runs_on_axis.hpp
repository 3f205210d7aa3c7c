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
  bool frozen = false;  // the first of the others is A: the run is held against it
  friend bool operator==(const ShownWith&, const ShownWith&) = default;
};

/// A run and those that it is held against, on its time axis.
struct RunsOnAxis {
  PaintedRunPtr first;
  std::vector<PaintedRunPtr> others;
  std::vector<RunPair> pairs;  // of each of them with the first; where the first of them is A, of
                               // the rest with that
};

/// Compares and paints, which may take long. Throws what `pair_of` throws.
RunsOnAxis on_one_axis(PaintedRunPtr first, const ShownWith& with);

}  // namespace penstock
