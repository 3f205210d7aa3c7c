#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "validate/store/profile_store.hpp"
#include "validate/store/validity.hpp"

namespace penstock {

/// Measures a point `repeats` times, in nanoseconds; nothing if it cannot be measured here.
using Remeasure =
    std::function<std::optional<std::vector<double>>(const KernelPoint& point, int repeats)>;

/// The canary's present time in nanoseconds; 0: unknown.
using Canary = std::function<double()>;

/// Time limit of a spot check.
struct SpotBudget {
  double seconds = 2;
  std::function<double()> elapsed_s{};  // since the check began; by default the steady clock
};

/// The result for a row that was measured again.
struct SpotResult {
  RowId id{};
  bool holds = false;
  double change = 0;             // new over old, less 1; of the last try
  std::optional<RowId> again{};  // the new row, if the old one was confirmed and not moved
                                 // meanwhile
};

/// The result of a spot check.
struct SpotCheck {
  std::vector<SpotResult> measured;       // in order of measurement
  std::vector<RowId> retired_with_group;  // because three of five of their group failed
  std::vector<RowId> taken_over;          // new rows in today's environment, by origin
  std::vector<RowId> cannot_be_measured;  // no kernel here runs them
  std::vector<RowId> not_quiet;           // unchanged, because the canary was off meanwhile
  std::vector<RowId> left;                // not reached in time
};

/// Measures suspect rows again, most doubtful first: ten times, and ten more if the result is off
/// by more than 3 % and by more than three times the row's own spread. A confirmed row becomes
/// valid again, and its new samples become a new row; a row that is off twice is retired. A row
/// stays as it is if the canary, before or after its measurement, is more than 3 % off its known
/// usual time in its environment.
///
/// If three of five rows of one kernel, build and environment fail, all others of the group are
/// retired. If all measured ones are confirmed, five or every suspect one, the others of an
/// environment that differs from today's by a patch or a setting are taken over into today's. Each
/// step is stored with its verdict before the next begins.
SpotCheck spot_check(ProfileStore& store, const Today& today, const Remeasure& remeasure,
                     const Canary& canary, const SpotBudget& budget = {});

/// Retires rows for the faults found by `judge`, unless they have been moved since they were read;
/// returns the number retired. Doubts that hold only today, such as another build, are not written:
/// they are judged each time.
std::size_t record(ProfileStore& store, const std::vector<StoredRow>& rows,
                   const std::vector<RowJudgement>& judgements, const Today& today);

}  // namespace penstock
