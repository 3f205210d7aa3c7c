#pragma once

#include <optional>
#include <vector>

#include "validate/calibration/pipeline_run.hpp"
#include "validate/calibration/term_model.hpp"

namespace penstock {

/// Durations of actions in a run, from their isolated durations: a cost per action, and a factor
/// for each kind with training data.
struct InSitu {
  std::vector<Pass> kinds;  // kinds with a factor; term i + 1 of the model
  TermModel model;          // "an action", "F", "B" …

  /// Nanoseconds of an action in a run. A kind without a factor uses the nearest one: I and W that
  /// of B, R that of F. Other kinds: the isolated duration plus the cost.
  double at(Pass kind, double alone_ns, std::optional<std::size_t> draw = {}) const;
};

/// Fits factors and cost to measured actions: for each run and work class, the mean of an
/// iteration, then the median over iterations. A run is a block of the bootstrap.
InSitu fit_in_situ(const std::vector<const PipelineRun*>& runs, const BootstrapPlan& plan);

/// Duration of each work class in a run, in whole nanoseconds; links as in the job.
std::vector<Time> in_situ_times(const Pipeline& pipeline, const InSitu& in_situ,
                                std::optional<std::size_t> draw = {});

}  // namespace penstock
