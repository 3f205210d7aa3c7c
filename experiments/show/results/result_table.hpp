#pragma once

#include <string>

#include "experiments/run/run.hpp"
#include "experiments/show/results/report_options.hpp"

namespace penstock {

/// The report of a run for a terminal: summary and layout, notes, ranks, findings. Omits columns
/// that are zero for all ranks.
std::string result_table(const RunResult& result, const ReportOptions& options = {});

}  // namespace penstock
