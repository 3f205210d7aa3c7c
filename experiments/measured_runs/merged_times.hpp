#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/measured_runs/measured_run.hpp"

namespace penstock {

/// Times of the layers of a profile, taken from several runs of one model.
struct MergedTimes {
  std::vector<OpTimes> times;      // by layer, then pass; a layer is a stage of the finest run
  std::vector<std::string> notes;  // what comes from which run, what was split, what is missing
};

/// Merges the times of runs. The run with the most stages, the first of several, gives the layers
/// and all passes it has. A pass that it lacks comes from the finest run that has it. If that run
/// has fewer stages, its times are split over the layers of the stage as their backwards, or for a
/// B or F as their forwards. Throws InputError if the stages of a run are no multiple of another's.
MergedTimes merged_times(const std::vector<MeasuredRun>& runs);

}  // namespace penstock
