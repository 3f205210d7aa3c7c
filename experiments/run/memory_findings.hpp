#pragma once

#include "experiments/run/run_result.hpp"

namespace penstock {

/// Adds a finding for each rank of a finished run that needs more memory than it has.
void add_memory_findings(RunResult& result);

}  // namespace penstock
