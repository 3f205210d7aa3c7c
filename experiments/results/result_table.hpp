#pragma once

#include <string>

#include "experiments/run/run.hpp"

namespace penstock {

/// How much of a run its report shows.
struct ReportOptions {
  bool all = false;      // every rank, where there are more than ten
  bool verbose = false;  // what ranks without enough memory hold
};

/// The report of a run for a terminal: summary and layout, notes, ranks, findings. Columns that are
/// zero throughout are left out.
std::string result_table(const RunResult& result, const ReportOptions& options = {});

}  // namespace penstock
