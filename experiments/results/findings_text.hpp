#pragma once

#include <string>

#include "experiments/results/report_options.hpp"
#include "experiments/run/run.hpp"

namespace penstock {

/// The findings of a run: ranks that run out of memory in a table, worst first, with what they hold
/// where `verbose`; the others as they are. Empty where it has none.
std::string findings_text(const RunResult& result, const ReportOptions& options);

}  // namespace penstock
