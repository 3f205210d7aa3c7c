#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/report/idle.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/comparison/readiness.hpp"

namespace penstock {

/// What a rank did with the time of a run.
struct RankUse {
  Time busy{};
  Time idle{};  // makespan - busy
  IdleCauses idle_by_cause;
};

/// What the transfers of a link did with theirs. A sum that the clock does not reach to stays at
/// its end.
struct LinkUse {
  std::uint64_t transfers = 0;
  Time waiting{};  // from when their inputs were there to their begin
  Time moving{};   // from begin to arrival
  Time slowed{};   // of the moving: because of others
};

/// Where the time of a run went.
struct TimeUse {
  Time makespan{};
  bool causes_known = false;  // without it all waiting between actions counts as launch
  std::vector<RankUse> ranks;
  std::vector<LinkUse> links;  // by link of the plan
};

TimeUse time_use(const Plan& plan, const Timeline& timeline, const Readiness& readiness);

}  // namespace penstock
