#pragma once

#include <string>
#include <vector>

#include "experiments/show/pictures/plots/plots.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/memory.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

// The data of pictures as CSV: one header line, then one line per point. Times are microseconds.

/// series,microbatches,bubble,simulated,closed_form,missing: bubbles as fractions, empty if absent;
/// `missing` is the reason.
std::string bubble_csv(const BubblePlot& plot);

/// rank,link,pass,stage,microbatch,begin_us,end_us: one line per task. A transfer has a link
/// ("0>1") and no rank.
std::string timeline_csv(const Plan& plan, const Timeline& timeline);

/// rank,time_us,bytes, and a column for each kind that occurs: the memory of a rank from a moment
/// on. `kinds`: of each sample, or none.
std::string memory_csv(const Timeline& timeline, const std::vector<BytesByKind>& kinds = {});

/// panel,series,unit,measured,predicted,low,high: the values by the names of the plot, low and high
/// only with intervals.
std::string calibration_csv(const CalibrationPlot& plot);

/// quantity,x,y,value,finding: one line per cell; `value` is empty without a result.
std::string heat_map_csv(const HeatMap& map);

/// seconds,gibibytes,on_front,finding.
std::string front_csv(const FrontPlot& plot);

}  // namespace penstock
