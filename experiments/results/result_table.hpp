#pragma once

#include <string>

#include "experiments/results/report_options.hpp"
#include "experiments/run/run.hpp"

namespace penstock {

/// The report of a run for a terminal: summary and layout, notes, ranks, findings. Omits columns
/// that are zero for all ranks.
std::string result_table(const RunResult& result, const ReportOptions& options = {});

}  // namespace penstock
