#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gui/models/drawing/lane_rows.hpp"
#include "gui/models/drawing/painted_run.hpp"

namespace penstock {

/// Ops that stay marked when other runs are shown: those that were, and the same ops of the new
/// runs.
struct KeptOps {
  ShownOp selected, now_selected;
  ShownOps bright, now_bright;
};

/// What is shown of an open run.
struct ShownRuns {
  RunsOnAxis runs;
  ShownWith with;
  std::shared_ptr<const std::vector<float>> slack;  // nullptr: not shown
  KeptOps kept;
  bool paired = false;  // anew: `runs.pairs` are known
};

/// What is to be shown of it.
struct WishedRuns {
  std::function<ViewedRunPtr()> make;  // another run in its place; none: the same
  ShownWith with;
  bool freezes = false;  // the run, whole, becomes A
};

/// Makes what is wished of what is shown; what is there already is not made again. May take long.
/// Throws what making, pairing and reading throw. `before` needs no pairs.
ShownRuns made_of(const WishedRuns& wish, ShownRuns before);

/// The same run with all that is reported of it.
ViewedRunPtr whole(const ViewedRunPtr& run);

}  // namespace penstock
