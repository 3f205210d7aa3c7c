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

/// What tasks of one work class of the first run add to the change of a makespan.
struct ChangePart {
  std::uint32_t work = 0;
  std::uint32_t ops = 0;
  Time change{};
};

/// Why the second run ends when it does and not when the first did. Parts and rest add up to the
/// difference of the makespans.
struct MakespanChange {
  std::vector<ChangePart> parts;  // other durations, largest change first
  Time rest{};                    // waits, other orders, and tasks of one run alone
};

/// Follows the second run back from its last end, from each task to what it waited for last, and
/// holds each of these against the same op of the first.
MakespanChange makespan_change(const RunView& a, const RunView& b,
                               const std::vector<TaskPair>& shared);

}  // namespace penstock
