#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/report/idle.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/comparison/readiness.hpp"

namespace penstock {

/// How a rank spent the makespan.
struct RankUse {
  Time busy{};
  Time idle{};  // makespan - busy
  IdleCauses idle_by_cause;
};

/// How transfers of a link spent their time. Sums saturate at the end of the clock.
struct LinkUse {
  std::uint64_t transfers = 0;
  Time waiting{};  // from arrival of inputs to begin
  Time moving{};   // from begin to arrival
  Time slowed{};   // of `moving`: due to other transfers
};

/// Where the time of a run went.
struct TimeUse {
  Time makespan{};
  bool causes_known = false;  // without causes, all gaps between actions count as launch
  std::vector<RankUse> ranks;
  std::vector<LinkUse> links;  // by link of the plan
};

TimeUse time_use(const Plan& plan, const Timeline& timeline, const Readiness& readiness);

}  // namespace penstock
