#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/run/run.hpp"
#include "experiments/show/pictures/lanes/timeline_picture.hpp"
#include "experiments/show/pictures/picture.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// The first lines of the report of a finished run: step time, throughput, utilization, memory of
/// the worst rank, bubble, layout and batch.
std::string run_summary(const RunResult& result);

/// The "fit" line of the summary: whether all ranks fit, and what the one that needs most may need.
/// Empty: the capacity is unknown.
std::string fit_text(const RunResult& result);

/// What the length of a run is called, "step time": a schedule without flushes has no steps, and
/// its run is an epoch; the lanes of traces are a recording of any number of steps.
const char* makespan_name(const Plan& plan);

/// The notes of a run, numbered; empty without notes.
std::string numbered_notes(const RunResult& result);

/// The rank of an action or of a transfer's sender; for a transfer from outside, its receiver.
std::uint32_t rank_of_task(const Plan& plan, TaskId task);

/// "rank 2", or its name if it has one, or "link 0>1".
std::string place_text(const Plan& plan, std::uint32_t resource);

/// The busiest rank, the first of equals.
Rank busiest_of(const Report& report);

/// Whether any rank holds anything: a recording may have no samples of memory.
bool knows_memory(const Report& report);

/// The kinds of memory that any rank holds at its peak.
std::vector<BufferKind> kinds_held(const Report& report);

/// How sure a step time is, if a stack priced its kernels: "interval" and "constants" lines of the
/// summary; empty otherwise.
std::string uncertainty_text(const RunResult& result);

/// The same as JSON: the interval, the spread behind it, and the constants by their origin.
nlohmann::ordered_json uncertainty_json(const RunResult& result);

/// Whether the step time of a run has an interval.
bool has_uncertainty(const RunResult& result);

/// Draws the timeline of a run, with makespan and bubble below its title.
std::string draw_run(PictureFormat format, const Plan& plan, const Timeline& timeline,
                     const std::string& title, const PictureOptions& options = {},
                     const TimelineExplanation& explanation = {});

}  // namespace penstock
