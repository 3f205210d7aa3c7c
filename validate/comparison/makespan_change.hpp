#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/comparison/readiness.hpp"
#include "validate/comparison/task_match.hpp"

namespace penstock {

/// One of two runs, and what its tasks waited for.
struct RunView {
  const Plan& plan;
  const Timeline& timeline;
  const Readiness& ready;
};

/// The share of one work class of the first run in a change of the makespan.
struct ChangePart {
  std::uint32_t work = 0;
  std::uint32_t ops = 0;
  Time change{};
};

/// Why the makespans of two runs differ. Parts and rest add up to the difference.
struct MakespanChange {
  std::vector<ChangePart> parts;  // changed durations, largest first
  Time rest{};                    // waits, changed orders, and tasks of one run only
};

/// Follows the second run back from its last end along the inputs that arrived last, and compares
/// each op with the same op of the first run.
MakespanChange makespan_change(const RunView& a, const RunView& b,
                               const std::vector<TaskPair>& shared);

}  // namespace penstock
