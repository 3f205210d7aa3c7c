#pragma once

#include "sim/costs/priced_plan.hpp"
#include "sim/timeline/timeline_file.hpp"

namespace penstock {

/// The measured durations of a recording, as costs of its plan. The time that a transfer occupies
/// its link ends at the latest when the next one on it begins; the rest is latency.
PricedPlan recorded_costs(const Recording& recording);

/// The structure error of a recording: its makespan when simulated with its own durations, against
/// the recorded one; a share. Throws UsageError for plans with shared links or other waits that a
/// recording does not hold.
double replayed_structure_error(const Recording& recording);

}  // namespace penstock
