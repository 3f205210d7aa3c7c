#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/measured_runs/measured_run.hpp"

namespace penstock {

/// The profile of a run, as `profile.schema.json` has it: a layer a stage, with medians, measured
/// on microbatches of so many examples.
std::string profile_text(const MeasuredRun& run, double examples);

/// Where a scenario finds what it is made of, seen from its own folder.
struct ScenarioParts {
  std::string profile;
  std::string order;  // a file; empty: the schedule by its name
};

/// A scenario that simulates what a run did from its profile.
std::string scenario_text(const MeasuredRun& run, const ScenarioParts& parts, double examples);

/// The document of `trace --json`.
nlohmann::ordered_json measured_run_json(const MeasuredRun& run);
/// The report for a terminal.
std::string measured_run_text(const MeasuredRun& run);

/// What names the patterns fit, and which they do not, by rank.
std::string preview_text(const std::vector<TracedRank>& ranks,
                         const std::vector<OpPattern>& patterns);
nlohmann::ordered_json preview_json(const std::vector<TracedRank>& ranks,
                                    const std::vector<OpPattern>& patterns);

}  // namespace penstock
