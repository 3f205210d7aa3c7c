#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/measure/measured_runs/measured_run.hpp"
#include "experiments/measure/torch_runs/runtime_order.hpp"

namespace penstock {

/// A step of all ranks.
struct TimedStep {
  double us = 0;
  double others = 0;        // share of the cores that others used meanwhile
  std::uint32_t round = 0;  // in which it was taken
};

/// The steps of an order that were traced in one visit.
struct TracedVisit {
  std::vector<std::string> files;  // by rank
  std::vector<TimedStep> steps;
};

/// The quiet steps of all visits as one run; all steps, where fewer than two are quiet. Throws
/// InputError for traces without these steps.
MeasuredRun run_of_visits(const std::vector<TracedVisit>& visits, double quiet_share,
                          const RuntimeOrder& order);

/// What a step of the run takes in front of its first op and behind its last: the median.
double around_ops_us(const std::vector<TracedVisit>& visits, const MeasuredRun& run);

}  // namespace penstock
