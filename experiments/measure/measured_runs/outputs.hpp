#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/measure/measured_runs/measured_run.hpp"

namespace penstock {

/// The profile of runs, as in `profile.schema.json`: one layer per stage of the finest one, with
/// medians, measured on microbatches of `examples` examples.
std::string profile_text(const std::vector<MeasuredRun>& runs, const MergedTimes& merged,
                         double examples);

/// The files of a scenario, relative to its folder.
struct ScenarioParts {
  std::string profile;
  std::string order;                         // a file; empty: the schedule by name
  std::optional<std::uint32_t> chunks = {};  // where the schedule by name has others by default
};

/// A scenario that simulates a run from its profile.
std::string scenario_text(const MeasuredRun& run, const MergedTimes& merged,
                          const ScenarioParts& parts, double examples);

/// The output of `trace --json`.
nlohmann::ordered_json measured_run_json(const MeasuredRun& run);
/// The lines of a profile made of several runs.
std::string merged_text(const MergedTimes& merged);
/// The report for a terminal.
std::string measured_run_text(const MeasuredRun& run);

/// The names that the patterns match and the others, by rank.
std::string preview_text(const std::vector<TracedRank>& ranks,
                         const std::vector<OpPattern>& patterns);
nlohmann::ordered_json preview_json(const std::vector<TracedRank>& ranks,
                                    const std::vector<OpPattern>& patterns);

}  // namespace penstock
