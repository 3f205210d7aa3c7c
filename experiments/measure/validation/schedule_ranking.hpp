#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/measure/validation/validation.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {

/// One of several schedules over the same work.
struct RankedSchedule {
  std::string name;
  std::string left_out;  // why it was not run; empty: it was
  Validation validation;
  double simulated_us = 0;  // in the scenario's time scale, so that schedules compare
  double measured_us = 0;
};

/// Whether simulation ranks schedules in their real order.
struct ScheduleRanking {
  std::string backend;
  std::vector<RankedSchedule> schedules;  // first those that ran, by measured time; then those left
                                          // out
  std::size_t ran = 0;                    // how many ran
  std::optional<double> correlation;      // Kendall's tau-b; nothing for fewer than two
  ErrorSummary errors;                    // of simulated against measured times
  ErrorSummary retests;                   // of one half of the measured times against the other
  std::uint32_t pairs_apart = 0;  // of schedules whose measured times differ by more than 5 %
  std::uint32_t pairs_right = 0;  // of these, in the right order
  double regret = 0;  // additional time of the predicted fastest schedule over the actual fastest,
                      // as a share
  Verdict verdict = Verdict::inconclusive;  // the worst of all
  std::string why_no_score;  // why errors, correlation and regret are meaningless; then unset
  std::string profile;       // of a run in PyTorch: the profile file that predictions used
  std::string scenario;      // and a scenario that reads it as profile.json
  std::size_t stopped = 0;   // how many an interrupt kept from running; they are not in `schedules`
};

/// The schedules named by `--schedules`: "all" is every schedule that trains. Throws UsageError for
/// an unknown name, or one that comes twice.
std::vector<std::string> schedules_named(const std::string& text);

/// Validates a scenario with each of the schedules; schedules that do not fit the scenario are left
/// out. A backend's error ends the run of one schedule; it is thrown if none ran. In PyTorch's
/// runtime, all are predicted from the traces of four.
ScheduleRanking rank_schedules(const Scenario& scenario, const std::vector<std::string>& names,
                               const BackendEntry& backend, const ValidationOptions& options);

/// Why a ranking is inconclusive, in a line.
std::string why_inconclusive(const ScheduleRanking& ranking);

/// The document of `validate --schedules … --json`.
nlohmann::ordered_json ranking_json(const ScheduleRanking& ranking);

/// The report for a terminal.
std::string ranking_text(const ScheduleRanking& ranking);

}  // namespace penstock
