#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/explanation/sensitivity.hpp"
#include "sim/report/critical_path.hpp"
#include "sim/report/idle.hpp"

namespace penstock {

/// A stretch of the critical path on one rank or link, what its tasks waited for included.
struct PathStretch {
  std::uint32_t resource;
  TaskId first;
  TaskId last;
  std::uint32_t tasks = 0;
  Time begin{};
  Time end{};
  PathWaits waits{};
};

/// How long the critical path runs one pass of one stage, without what this waited for.
struct PathShare {
  Pass pass;
  Stage stage;
  Time time{};
  std::uint32_t tasks = 0;
};

/// Where the time of a finished run went.
struct Explanation {
  std::vector<PathStretch> path;
  std::vector<PathShare> shares;  // of the critical path, largest first
  PathWaits waits;                // of the path: with the shares they add up to the makespan
  std::vector<Sensitivity> sensitivity;
  std::vector<IdleGap> gaps;        // longest first
  IdleCauses idle;                  // of all ranks
  std::vector<std::string> advice;  // what to change first
};

}  // namespace penstock
