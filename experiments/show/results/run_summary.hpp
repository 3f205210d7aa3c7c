#pragma once

#include <string>

#include "experiments/run/run.hpp"

namespace penstock {

/// The first lines of the report of a finished run: step time, throughput, utilization, memory of
/// the worst rank, bubble, layout and batch.
std::string run_summary(const RunResult& result);

/// The notes of a run, numbered; empty without notes.
std::string numbered_notes(const RunResult& result);

}  // namespace penstock
