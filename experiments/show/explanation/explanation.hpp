#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/run/changes/tried_changes.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/explanation/sensitivity.hpp"
#include "sim/report/critical_path.hpp"
#include "sim/report/idle.hpp"
#include "sim/report/idle_sums.hpp"
#include "sim/timeline/timeline_file.hpp"

namespace penstock {

/// A stretch of the critical path on one rank or link, waits included.
struct PathStretch {
  std::uint32_t resource;
  TaskId first;
  TaskId last;
  std::uint32_t tasks = 0;
  Time begin{};
  Time end{};
  PathWaits waits{};
};

/// Critical-path time of one pass of one stage, without waits.
struct PathShare {
  Pass pass;
  Stage stage;
  Time time{};
  std::uint32_t tasks = 0;
};

/// Where the time of a finished run goes.
struct Explanation {
  std::vector<PathStretch> path;
  std::vector<PathShare> shares;  // of the critical path, largest first
  PathWaits waits;                // of the path; shares and waits add up to the makespan
  std::vector<Sensitivity> sensitivity;
  std::vector<IdleGap> gaps;  // longest first
  IdleSums idle;              // of all ranks
  // Changes that make the step shorter, fastest first, and what runs now, if tried. Of a run that
  // does not fit those that make it fit or, without any, that reduce its peak.
  std::vector<TriedChange> changes;
  std::optional<TriedChange> now;
  // What to change first. Of a run that does not fit only that: what shortens it may need more
  // memory.
  std::vector<std::string> advice;
  std::vector<std::string> notes;  // what is left out
};

/// The result must have a report: a deadlocked run has nothing to explain but its finding.
Explanation explain(const RunResult& result);
/// The same with changes of its scenario, each simulated.
Explanation explain(const Scenario& scenario, const RunResult& result);
/// The same without sensitivities, which simulate the run again.
Explanation explain_times(const RunResult& result);

/// What to change first, one sentence each, largest share of the run first; nothing below 1 %. Uses
/// only the critical path and idle time of the explanation.
std::vector<std::string> advice_for(const RunResult& result, const Explanation& explanation);

/// Whether a rank needs more memory than it has.
bool does_not_fit(const RunResult& result);
/// "it does not fit, rank 0 needs 3 GiB, 687.8 MiB too much": of the rank that needs most.
std::string lack_text(const RunResult& result);

std::string explanation_text(const RunResult& result, const Explanation& explanation);
nlohmann::ordered_json explanation_json(const RunResult& result, const Explanation& explanation);

/// A run as its `.timeline` file has it, simulated or measured: plan, times and a report of them;
/// without scenario, costs of classes and bytes. A transfer that overlaps with the next one of its
/// link has left when that begins.
RunResult run_of_recording(Recording recording);

/// The costs of tasks that give these times: how long each takes, and of a transfer, how much of
/// that is latency. Nothing by class.
Costs costs_of_times(const Plan& plan, const Timeline& timeline);

/// What times alone explain: critical path, shares, gaps, advice. The notes say what is left out.
Explanation explain_recorded(const RunResult& run);

}  // namespace penstock
