#pragma once

#include "sim/plan/plan.hpp"
#include "sim/report/report.hpp"
#include "sim/timeline/timeline.hpp"
#include "sim/timeline/timeline_overview.hpp"

namespace penstock {

/// The overview of a run, with its idle time by cause.
TimelineOverview overview_of(const Plan& plan, const Timeline& timeline);

/// What an overview reports: makespan, bubble, and start, end, busy and idle time of each rank.
Report report_of(const TimelineOverview& overview);

}  // namespace penstock
