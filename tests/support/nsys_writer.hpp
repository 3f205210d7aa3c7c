#pragma once

#include <string>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock::testing {

/// Writes a run as an SQLite export of Nsight Systems with the columns that its schema has: each
/// rank is a process, 101 and so on, whose actions are NVTX ranges with a launch and a kernel.
/// Names of ranges are "PP:" with the op, or only "work". The first rank also copies, and marks a
/// moment.
void write_nsys(const std::string& path, const Plan& plan, const Timeline& timeline,
                bool names_ops = true);

}  // namespace penstock::testing
