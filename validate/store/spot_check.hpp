#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "validate/store/profile_store.hpp"
#include "validate/store/validity.hpp"

namespace penstock {

/// Measures a point `repeats` times, in nanoseconds; nothing for one that cannot be measured here.
using Remeasure =
    std::function<std::optional<std::vector<double>>(const KernelPoint& point, int repeats)>;

/// The present time of the canary, in nanoseconds; 0: unknown.
using Canary = std::function<double()>;

/// What a spot check may take.
struct SpotBudget {
  double seconds = 2;
  std::function<double()> elapsed_s{};  // since the check began; without one, by the steady clock
};

/// The result for a row that was measured again.
struct SpotResult {
  RowId id{};
  bool holds = false;
  double change = 0;             // new over old, less 1: of the last try
  std::optional<RowId> again{};  // the new row, where it holds and was not moved meanwhile
};

/// What a spot check did.
struct SpotCheck {
  std::vector<SpotResult> measured;       // in the order they were
  std::vector<RowId> retired_with_group;  // since three of five of their group did not hold
  std::vector<RowId> taken_over;          // new rows: those of today's environment, by origin
  std::vector<RowId> cannot_be_measured;  // by nothing that is here
  std::vector<RowId> not_quiet;           // the canary was off meanwhile, so they are as they were
  std::vector<RowId> left;                // for which there was no time
};

/// Measures suspect rows again, most doubtful first: ten times, and as often again where that is
/// off by more than 3 % and three times the row's own spread. What holds is valid again, and the
/// new samples become a row of their own; what is off twice is retired. A row beside whose
/// measurement, before or after, the canary is more than 3 % off what it usually takes in its
/// environment, where that is known, stays as it is. Where three of five rows of one kernel, build
/// and environment do not hold, all others of these are retired with them; where all that were
/// measured hold, five or every suspect one, the others of an environment that differs from today's
/// by a patch or a setting are taken over into today's. Each step is in the store, with its
/// verdict, before the next begins.
SpotCheck spot_check(ProfileStore& store, const Today& today, const Remeasure& remeasure,
                     const Canary& canary, const SpotBudget& budget = {});

/// Retires rows for the faults that `judge` found in them, unless they have been moved since they
/// were read; returns how many. Doubts of today alone, such as another build, are not written: they
/// are judged anew each time.
std::size_t record(ProfileStore& store, const std::vector<StoredRow>& rows,
                   const std::vector<RowJudgement>& judgements, const Today& today);

}  // namespace penstock
