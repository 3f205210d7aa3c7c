#pragma once

#include <string>

#include "experiments/run/run.hpp"

namespace penstock {

/// How much of a run its report shows.
struct ReportOptions {
  bool all = false;      // all ranks, even if there are more than ten
  bool verbose = false;  // memory by kind of ranks that run out of it
};

/// The report of a run for a terminal: summary and layout, notes, ranks, findings. Omits columns
/// that are zero for all ranks.
std::string result_table(const RunResult& result, const ReportOptions& options = {});

/// What microbatches that differ cost: a paragraph and a table.
std::string batch_text(const BatchReport& report, TimeUnit unit);

/// The findings of a run. Ranks that run out of memory form a table, worst first, with memory by
/// kind if `verbose`. Empty without findings.
std::string findings_text(const RunResult& result, const ReportOptions& options);

}  // namespace penstock
