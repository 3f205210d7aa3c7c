#pragma once

#include <string>
#include <vector>

#include "experiments/measured_runs/measured_run.hpp"
#include "experiments/torch_runs/runtime_order.hpp"

namespace penstock {

/// The steps of an order that the profiler saw in one visit.
struct TracedVisit {
  std::vector<std::string> files;  // by rank
  std::vector<double> others;      // by step: share of the cores that others used
};

/// The quiet steps of all visits as one run; all steps, where fewer than two are quiet. Throws
/// InputError for traces without these steps.
MeasuredRun run_of_visits(const std::vector<TracedVisit>& visits, double quiet_share,
                          const RuntimeOrder& order);

}  // namespace penstock
