#pragma once

#include <optional>
#include <string>

#include "sim/costs/priced_plan.hpp"
#include "sim/engines/standstill.hpp"

namespace penstock {

/// Runs a plan event by event under conditions that `relax` does not support: shared links, limited
/// memory, actions and transfers that slow each other down. Where both apply, the timelines are
/// byte-equal. Reuses the memory of `reused`, so that a sweep allocates once.
RunOutcome run_events(const PricedPlan& priced, Timeline reused = {});

/// Runs a plan with `relax` where it applies, otherwise with the event engine.
RunOutcome simulate(const PricedPlan& priced, Timeline reused = {});

/// Why `relax` does not apply: a phrase after "because". Nothing when it applies.
std::optional<std::string> why_not_relax(const Plan& plan, const Conditions& conditions);

}  // namespace penstock
