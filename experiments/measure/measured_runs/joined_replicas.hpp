#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/measure/measured_runs/measured_run.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Data replicas that were traced together, as one run in which each has ranks of its own.
struct JoinedReplicas {
  std::string title;
  Plan plan;
  Timeline timeline;                 // of the step that the first replica shows
  std::vector<Timeline> iterations;  // of all steps that every replica has
};

/// Joins the replicas by the clock that all traces share. Throws InputError unless all ran the same
/// order, and all have the step that the first one shows. Traces of a pipeline have no reductions,
/// so nothing ties replicas together: the step ends with the last of them.
JoinedReplicas join_replicas(const std::vector<MeasuredRun>& replicas);

}  // namespace penstock
