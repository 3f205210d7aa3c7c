#pragma once

#include <vector>

#include "sim/costs/priced_plan.hpp"
#include "sim/engines/standstill.hpp"

namespace penstock {

class Dispatcher;

/// The event engine for conditions under which what a rank can do depends on what goes on
/// elsewhere at that moment: it goes from one moment at which anything happens to the next. With a
/// dispatcher, it decides what ranks do next, and `ran` gets all their tasks as they started.
RunOutcome run_stepwise(const PricedPlan& priced, Timeline reused = {},
                        Dispatcher* dispatcher = nullptr, std::vector<TaskId>* ran = nullptr);

}  // namespace penstock
