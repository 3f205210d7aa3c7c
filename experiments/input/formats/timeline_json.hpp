#pragma once

#include <string_view>

#include "experiments/input/files/output_file.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Writes a timeline as one JSON document, in pieces. Every list below "spans" has an entry for
/// each task of the plan, in topological order; times are in picoseconds since the run started.
///
///   title, schedule, plan_hash, iteration, environment, ranks, microbatches, makespan_ps
///   links   each with "from" and "to": a rank, "host", or "data" for the copies of a rank in the
///           other data replicas
///   spans   pass ("F", "SEND_F" …), stage, microbatch, rank (of an action, else null), link (of
///   a
///           transfer: an index into `links`, else null), begin_ps, end_ps, last_input (the task
///           whose result arrived last, or null), slowed_ps and memory_wait_ps where any is not
///           zero
///   memory  rank, time_ps and bytes: what the rank holds from then on
void write_timeline_json(const Plan& plan, const Timeline& timeline, std::string_view title,
                         const TextSink& sink);

}  // namespace penstock
