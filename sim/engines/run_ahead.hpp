#pragma once

#include "sim/costs/priced_plan.hpp"
#include "sim/engines/standstill.hpp"

namespace penstock {

/// Whether ranks may run ahead of the clock: nothing that one does depends on what others do at the
/// same moment but through the transfers it waits for.
bool may_run_ahead(const Conditions& conditions);

/// The event engine for such conditions. A rank goes on as far as its inputs are known, private
/// links hand over at once, and only transfers over shared links become events.
RunOutcome run_ahead(const PricedPlan& priced, Timeline reused = {});

}  // namespace penstock
