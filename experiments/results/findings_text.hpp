#pragma once

#include <string>

#include "experiments/results/result_table.hpp"

namespace penstock {

/// The findings of a run: ranks that run out of memory in a table, worst first, with what they hold
/// where `verbose`; the others as they are. Empty where it has none.
std::string findings_text(const RunResult& result, const ReportOptions& options);

}  // namespace penstock
