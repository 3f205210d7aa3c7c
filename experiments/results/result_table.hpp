#pragma once

#include <string>

#include "experiments/run/run.hpp"

namespace penstock {

/// The report of a run for a terminal. Columns that are zero throughout are left out.
std::string result_table(const RunResult& result);

}  // namespace penstock
