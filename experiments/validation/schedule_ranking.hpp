#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/validation/validation.hpp"

namespace penstock {

/// One schedule among others over the same work.
struct RankedSchedule {
  std::string name;
  std::string left_out;  // why it was not run; empty: it was
  Validation validation;
  double simulated_us = 0;  // in the scenario's own time, so that schedules compare
  double measured_us = 0;
};

/// Whether a simulation puts schedules in the order in which they really come.
struct ScheduleRanking {
  std::string backend;
  std::vector<RankedSchedule> schedules;  // those that ran by measured time, then those left out
  std::size_t ran = 0;                    // how many of them
  std::optional<double> correlation;      // Kendall's tau-b; nothing for fewer than two
  double regret = 0;  // how much longer the schedule takes that is the quickest by simulation than
                      // the quickest, as a share
  Verdict verdict = Verdict::inconclusive;  // the worst of all
};

/// The names that `--schedules` stands for: "all" is every schedule that trains. Throws UsageError
/// for a name that is none.
std::vector<std::string> schedules_named(const std::string& text);

/// Validates a scenario with each of the schedules in place of its own; those that do not go with
/// the scenario are left out.
ScheduleRanking rank_schedules(const Scenario& scenario, const std::vector<std::string>& names,
                               const BackendEntry& backend, const ValidationOptions& options);

/// The document of `validate --schedules … --json`.
nlohmann::ordered_json ranking_json(const ScheduleRanking& ranking);

/// The report for a terminal.
std::string ranking_text(const ScheduleRanking& ranking);

}  // namespace penstock
