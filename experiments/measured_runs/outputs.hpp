#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/measured_runs/measured_run.hpp"

namespace penstock {

/// The profile of a run, as in `profile.schema.json`: one layer per stage, with medians, measured
/// on microbatches of `examples` examples.
std::string profile_text(const MeasuredRun& run, double examples);

/// The files of a scenario, relative to its folder.
struct ScenarioParts {
  std::string profile;
  std::string order;  // a file; empty: the schedule by name
};

/// A scenario that simulates a run from its profile.
std::string scenario_text(const MeasuredRun& run, const ScenarioParts& parts, double examples);

/// The output of `trace --json`.
nlohmann::ordered_json measured_run_json(const MeasuredRun& run);
/// The report for a terminal.
std::string measured_run_text(const MeasuredRun& run);

/// The names that the patterns match and the others, by rank.
std::string preview_text(const std::vector<TracedRank>& ranks,
                         const std::vector<OpPattern>& patterns);
nlohmann::ordered_json preview_json(const std::vector<TracedRank>& ranks,
                                    const std::vector<OpPattern>& patterns);

}  // namespace penstock
