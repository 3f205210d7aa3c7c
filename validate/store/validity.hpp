#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "validate/store/stored_row.hpp"
#include "validate/store/today.hpp"

namespace penstock {

/// Bounds and weights of validity. They are our choices.
struct ValidityRules {
  // Determined invalid.
  static constexpr std::size_t least_samples = 5;
  static constexpr double most_spread = 0.10;      // median distance from the median, over it
  static constexpr double most_canary_off = 0.05;  // from the median of its environment
  // Predicted invalid: weights add up, and from `suspect_from` on a row is suspect.
  static constexpr double suspect_from = 1;
  static constexpr double patch_weight = 1;  // of a driver or library
  static constexpr double setting_weight = 1;
  static constexpr double system_weight = 0.5;
  static constexpr double most_days = 30;
  static constexpr double age_weight = 1;
  static constexpr double most_drift = 0.03;  // of the canary since the row was measured
  static constexpr double drift_weight = 1;
  static constexpr double neighbour_weight = 0.5;  // for each of the two nearest that is retired
  static constexpr double most_residual = 3;       // standard deviations
  static constexpr double residual_weight = 1;
};

/// The judgement of a row.
struct RowJudgement {
  RowId id{};
  RowState state = RowState::valid;  // the worse of what the store says and what the rules say
  double score = 0;                  // sum of the weights against it
  std::vector<std::string> reasons{};
  std::vector<std::string> faults{};  // reasons in the row itself, true on any machine
  bool unfit = false;                 // retired for today's build and environment alone
  bool elsewhere = false;  // of another model of computer, which today says nothing about
  std::optional<RowId> superseded_by{};  // a newer valid row of the same point; this one is past
};

/// Judges the rows of a store, each in its place. Retired rows stay as they are.
std::vector<RowJudgement> judge(std::span<const StoredRow> rows, const Today& today);

/// The usual time of the canary of an environment: the median over all times at which it was taken
/// for rows that are not retired; 0: unknown.
double usual_canary(std::span<const StoredRow> rows,
                    const std::map<std::string, std::string>& environment);

/// The median of some samples, and the median distance from it over it; 0 of none.
double median_ns(const ProfileRow& row);
double spread_of(const ProfileRow& row);

}  // namespace penstock
