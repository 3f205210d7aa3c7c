#pragma once

#include <string>

#include "experiments/results/report_options.hpp"
#include "experiments/run/run.hpp"

namespace penstock {

/// The report of a run for a terminal: summary and layout, notes, ranks, findings. Columns that are
/// zero throughout are left out.
std::string result_table(const RunResult& result, const ReportOptions& options = {});

}  // namespace penstock
