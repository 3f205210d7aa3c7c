#pragma once

#include <string>

#include "experiments/results/report_options.hpp"
#include "experiments/run/run.hpp"

namespace penstock {

/// The findings of a run. Ranks that run out of memory form a table, worst first, with memory by
/// kind if `verbose`. Empty without findings.
std::string findings_text(const RunResult& result, const ReportOptions& options);

}  // namespace penstock
