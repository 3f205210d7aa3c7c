#pragma once

#include <set>
#include <vector>

#include "experiments/pictures/legend.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/idle_cause.hpp"

namespace penstock {

/// What the colours of passes mean, chunk by chunk; with one for idle time where it has no causes.
std::vector<LegendEntry> pass_entries(const Plan& plan, const std::set<Pass>& passes, bool idle);

/// What the colours of idle time mean, and the outline of the critical path where one is drawn.
std::vector<LegendEntry> cause_entries(const std::set<IdleCause>& causes, bool critical_path);

}  // namespace penstock
