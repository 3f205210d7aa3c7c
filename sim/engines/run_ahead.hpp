#pragma once

#include "sim/costs/priced_plan.hpp"
#include "sim/engines/standstill.hpp"

namespace penstock {

/// Whether ranks may run ahead of the clock: they affect each other only through transfers.
bool may_run_ahead(const Conditions& conditions);

/// The event engine for such conditions. A rank runs on as far as its inputs are known, private
/// links deliver at once, and only transfers over shared links become events.
RunOutcome run_ahead(const PricedPlan& priced, Timeline reused = {});

}  // namespace penstock
