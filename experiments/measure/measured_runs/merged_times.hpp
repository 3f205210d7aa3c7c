#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/measure/measured_runs/measured_run.hpp"

namespace penstock {

/// Times of the layers of a profile, taken from several runs of one model.
struct MergedTimes {
  std::vector<OpTimes> times;         // by layer, then pass; a layer is a stage of the finest run
  double host_us = 0;                 // of the host between two ops; 0: a device runs the ops
  double op_us = 0;                   // of an op beyond its layers, on the host; not in `times`
  std::optional<double> transfer_us;  // of a tensor that crosses ranks; nothing: none do
  std::vector<LinkTime> slow_links;   // of a tensor over each of these instead
  std::vector<std::string> notes;     // what comes from which run, what was split, what is missing
};

/// Merges the times of runs. The run with the most stages, the first of several, gives the layers
/// and all passes it has. A pass that it lacks comes from the finest run that has it. If that run
/// has fewer stages, its times are split over the layers of the stage as their backwards, or for a
/// B or F as their forwards. The host's time between ops and that of a tensor are the medians of
/// all runs; links that are slow in half of them keep their own. Where the host runs the ops, and
/// runs of more and of fewer stages have the same pass, the time of an op beyond its layers follows
/// from them: two stages run apart pay it twice. Throws InputError if the stages of a run are no
/// multiple of another's.
MergedTimes merged_times(const std::vector<MeasuredRun>& runs);

/// What the host takes for an op, and for each tensor that the op sends to another rank or
/// receives.
struct HostCosts {
  double op_us = 0;
  double message_us = 0;
};

/// Fitted to the ranks of all runs, neither below 0. Where all ranks have as many tensors an op,
/// nothing tells them apart, and the op has all.
HostCosts host_costs(const std::vector<MeasuredRun>& runs);

}  // namespace penstock
