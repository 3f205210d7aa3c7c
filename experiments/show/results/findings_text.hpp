#pragma once

#include <string>

#include "experiments/run/run.hpp"
#include "experiments/show/results/report_options.hpp"

namespace penstock {

/// The findings of a run. Ranks that run out of memory form a table, worst first, with memory by
/// kind if `verbose`. Empty without findings.
std::string findings_text(const RunResult& result, const ReportOptions& options);

}  // namespace penstock
