#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "validate/store/stored_row.hpp"

namespace penstock {

/// What rows are compared with: the present environment, build and date.
struct Today {
  std::map<std::string, std::string> environment;
  std::string build;  // hash of the kernels that this program measures; empty: unknown
  std::string date;   // UTC, "2026-11-21T18:40:00Z"
};

/// Thresholds and weights of validity. They are our choices.
struct ValidityRules {
  // Determined invalid.
  static constexpr std::size_t least_samples = 5;
  static constexpr double most_spread = 0.10;  // median absolute deviation over the median
  // A smaller deviation does not count against a pass of a layer: it is 1 % of an action of 20 us.
  static constexpr double pass_resolution_ns = 200;
  // Nor do samples of a pass that vary, where their median is known so well at 95 %.
  static constexpr double most_uncertain = 0.10;
  static constexpr double most_canary_off = 0.05;   // from the median of its environment
  static constexpr std::size_t least_canaries = 3;  // with two, either may be off
  // Predicted invalid: weights add up; from `suspect_from` on a row is suspect.
  static constexpr double suspect_from = 1;
  static constexpr double patch_weight = 1;  // of a driver or library
  static constexpr double setting_weight = 1;
  static constexpr double system_weight = 0.5;
  static constexpr double most_days = 30;
  static constexpr double age_weight = 1;
  static constexpr double most_drift = 0.03;  // of the canary since the measurement
  static constexpr double drift_weight = 1;
  static constexpr double neighbour_weight = 0.5;  // for each retired one of the two nearest shapes
  static constexpr double most_residual = 3;       // standard deviations
  static constexpr double residual_weight = 1;
};

/// The judgement of a row.
struct RowJudgement {
  RowId id{};
  RowState state = RowState::valid;  // the worse of the stored state and the judged one
  double score = 0;                  // sum of the weights against it
  std::vector<std::string> reasons{};
  std::vector<std::string> faults{};     // reasons in the row itself, valid on any machine
  bool unfit = false;                    // retired only for today's build and environment
  bool elsewhere = false;                // from another model of computer; not judged by today's
  std::optional<RowId> superseded_by{};  // a newer row that replaces it
};

/// Judges the rows of a store, in order. Retired rows stay retired.
std::vector<RowJudgement> judge(std::span<const StoredRow> rows, const Today& today);

/// The usual canary time of an environment: the median over all times of rows that are not retired;
/// 0: unknown.
double usual_canary(std::span<const StoredRow> rows,
                    const std::map<std::string, std::string>& environment);

/// Whether the median of a pass's samples is known at 95 % to a tenth of it.
bool median_is_known(const std::vector<double>& samples_ns);

}  // namespace penstock
