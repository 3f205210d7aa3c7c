#pragma once

#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// By how much each task could end later without a longer run, as a share of the makespan: the
/// shortest sum of waits on a way from its end to that of the run. 0 on the critical path.
std::vector<float> slack_of(const Plan& plan, const Timeline& timeline);

}  // namespace penstock
