#pragma once

#include <optional>
#include <string>

#include "sim/costs/priced_plan.hpp"
#include "sim/engines/standstill.hpp"

namespace penstock {

/// Runs a plan event by event under conditions that `relax` knows nothing of: shared links, memory
/// that runs out, actions and transfers that slow each other down. Where both apply, the timelines
/// are equal to the byte. The memory of `reused` is used for the new timeline, so that a sweep
/// allocates once.
RunOutcome run_events(const PricedPlan& priced, Timeline reused = {});

/// Runs a plan with the engine that is right for it: `relax` where it can be, else the event
/// engine.
RunOutcome simulate(const PricedPlan& priced, Timeline reused = {});

/// Why `relax` would be wrong: a phrase that goes after "because". Nothing where it is right.
std::optional<std::string> why_not_relax(const Plan& plan, const Conditions& conditions);

}  // namespace penstock
