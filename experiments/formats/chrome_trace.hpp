#pragma once

#include <string_view>

#include "experiments/files/output_file.hpp"
#include "experiments/long_work/progress.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// A timeline as Chrome Trace Event JSON, for ui.perfetto.dev, chrome://tracing and speedscope.
///
/// Each rank is a process. Its threads hold what it computes, sends and receives; slices of one
/// thread never overlap, so what runs at the same time is on "compute 2", "send 2" and so on.
/// Arrows lead from the action that made a tensor to the action that reads it. Counters show the
/// memory of a rank (when the timeline has samples) and the activations that it holds.
///
/// Times are in microseconds and exact to the nanosecond. Viewers count in nanoseconds and round
/// begin and duration on their own, which would make slices overlap that only touch; so begin and
/// end are rounded here, each once.
///
/// The text goes to `sink` in pieces, so that a large run needs little memory.
void write_chrome_trace(const Plan& plan, const Costs& costs, const Timeline& timeline,
                        std::string_view title, const TextSink& sink,
                        const OnProgress& on_progress = {});

}  // namespace penstock
