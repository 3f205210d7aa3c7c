#pragma once

#include <string_view>

#include "experiments/input/files/output_file.hpp"
#include "experiments/input/long_work/progress.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"
#include "sim/timeline/timeline_file.hpp"

namespace penstock {

/// Writes a timeline as Chrome Trace Event JSON, for ui.perfetto.dev, chrome://tracing and
/// speedscope.
///
/// Each rank is a process. Its threads hold computation, sends and receives. Slices of one thread
/// never overlap: concurrent ones go to "compute 2", "send 2" and so on. Arrows lead from the
/// action that produces a tensor to the action that reads it. Counters show the memory of a rank
/// (if the timeline has samples) and its activations in flight.
///
/// Times are in microseconds, exact to the nanosecond. Viewers round begin and duration separately
/// to nanoseconds, so adjacent slices would overlap; here begin and end are rounded once each.
///
/// Without `costs`, as of a `.timeline` file, the bytes of transfers are left out. The text goes to
/// `sink` in pieces, so a large run needs little memory.
void write_chrome_trace(const Plan& plan, const Costs& costs, const Timeline& timeline,
                        std::string_view title, const TextSink& sink,
                        const OnProgress& on_progress = {});

/// Whether a file that begins like this is a trace by `write_chrome_trace`.
bool is_own_trace(std::string_view beginning);

/// The run of such a trace: its document has it as a whole, in "penstockTimeline". Throws
/// InputError.
Recording recording_in_trace(std::string_view trace);

}  // namespace penstock
