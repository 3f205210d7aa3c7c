#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "experiments/show/pictures/legend.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/idle.hpp"

namespace penstock {

/// "forward", "input gradient": what legends call a pass.
std::string_view pass_name(Pass pass);

/// Legend entries of passes by chunk; with `idle`, one for idle time without causes.
std::vector<LegendEntry> pass_entries(const Plan& plan, const std::set<Pass>& passes, bool idle);

/// Legend entries of idle causes and, if drawn, of the critical path.
std::vector<LegendEntry> cause_entries(const std::set<IdleCause>& causes, bool critical_path);

}  // namespace penstock
