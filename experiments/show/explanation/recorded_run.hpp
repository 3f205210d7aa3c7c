#pragma once

#include "experiments/run/run.hpp"
#include "experiments/show/explanation/explanation.hpp"
#include "sim/timeline/timeline_file.hpp"

namespace penstock {

/// A run as its `.timeline` file has it, simulated or measured: plan, times and a report of them;
/// without scenario, costs of classes and bytes. A transfer that overlaps with the next one of its
/// link has left when that begins.
RunResult run_of_recording(Recording recording);

/// What times alone explain: critical path, shares, gaps, advice. The notes say what is left out.
Explanation explain_recorded(const RunResult& run);

}  // namespace penstock
