#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/time_sum.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/idle.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/comparison/readiness.hpp"
#include "validate/comparison/task_match.hpp"

namespace penstock {

/// How a rank spent the makespan.
struct RankUse {
  Time busy{};
  Time idle{};  // makespan - busy
  IdleCauses idle_by_cause;
};

/// How transfers of a link spent their time.
struct LinkUse {
  std::uint64_t transfers = 0;
  TimeSum waiting;  // from arrival of inputs to begin
  TimeSum moving;   // from begin to arrival
  TimeSum slowed;   // of `moving`: due to other transfers
};

/// Where the time of a run went.
struct TimeUse {
  Time makespan{};
  bool causes_known = false;  // without causes, all gaps between actions count as launch
  std::vector<RankUse> ranks;
  std::vector<LinkUse> links;  // by link of the plan
};

TimeUse time_use(const Plan& plan, const Timeline& timeline, const Readiness& readiness);

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
  TimeSum change;
};

/// Why the makespans of two runs differ. Parts and rest add up to the difference.
struct MakespanChange {
  std::vector<ChangePart> parts;  // changed durations, largest first
  TimeSum rest;                   // waits, changed orders, and tasks of one run only
};

/// Follows the second run back from its last end along the inputs that arrived last, and compares
/// each op with the same op of the first run.
MakespanChange makespan_change(const RunView& a, const RunView& b,
                               const std::vector<TaskPair>& shared);

}  // namespace penstock
