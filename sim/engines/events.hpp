#pragma once

#include <optional>
#include <string>

#include "sim/costs/priced_plan.hpp"
#include "sim/engines/standstill.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Runs a plan event by event under conditions that `relax` does not support: shared links, limited
/// memory, actions and transfers that slow each other down. Where both apply, the timelines are
/// byte-equal. Reuses the memory of `reused`, so that a sweep allocates once.
RunOutcome run_events(const PricedPlan& priced, Timeline reused = {});

/// Runs a plan with `relax` where it applies, also where all else that there is are limits that
/// never bind; otherwise with the event engine.
RunOutcome simulate(const PricedPlan& priced, Timeline reused = {});

/// Why `relax` does not apply: a phrase after "because". Nothing when it applies.
std::optional<std::string> why_not_relax(const Plan& plan, const Conditions& conditions);

/// Runs a plan by longest path: each task starts when its resource is free and its inputs have
/// arrived, an action also after its launch. Applies when every link serves one ordered pair of
/// ranks first come first served and nothing stalls, as in every plan from `lower`; ignores
/// conditions. Takes one pass over the tasks; reuses the memory of `reused`, so that a sweep
/// allocates once.
Timeline relax(const PricedPlan& priced, Timeline reused = {});

/// Whether ranks may run ahead of the clock: they affect each other only through transfers.
bool may_run_ahead(const Conditions& conditions);

/// The event engine for such conditions. A rank runs on as far as its inputs are known, private
/// links deliver at once, and only transfers over shared links become events.
RunOutcome run_ahead(const PricedPlan& priced, Timeline reused = {});

}  // namespace penstock
