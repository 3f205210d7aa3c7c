#pragma once

#include <optional>
#include <vector>

#include "validate/calibration/pipeline_run.hpp"
#include "validate/calibration/term_model.hpp"

namespace penstock {

/// What actions take in a run, from what they take alone: a cost of each action, and a factor for
/// each kind that it was fitted to.
struct InSitu {
  std::vector<Pass> kinds;  // with a factor; term i + 1 of the model
  TermModel model;          // "an action", "F", "B" …

  /// Nanoseconds that an action takes in a run. A kind without a factor has that of the nearest
  /// one: I and W that of B, R that of F; others take what they take alone, and the cost.
  double at(Pass kind, double alone_ns, std::optional<std::size_t> draw = {}) const;
};

/// Fits factors and cost to what the actions of some runs took: for each run and work class the
/// mean of an iteration, of which the median over iterations; a run is a block of the bootstrap.
InSitu fit_in_situ(const std::vector<const PipelineRun*>& runs, const BootstrapPlan& plan);

/// What each work class takes in a run, in whole nanoseconds; links what the job says.
std::vector<Time> in_situ_times(const Pipeline& pipeline, const InSitu& in_situ,
                                std::optional<std::size_t> draw = {});

}  // namespace penstock
