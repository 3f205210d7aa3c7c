#pragma once

#include <vector>

#include "sim/costs/priced_plan.hpp"
#include "sim/engines/standstill.hpp"

namespace penstock {

class Dispatcher;

/// The event engine for conditions that couple ranks at any moment: every start and end is an
/// event. With a dispatcher, that chooses the next actions, and `ran` receives all tasks in
/// starting order.
RunOutcome run_stepwise(const PricedPlan& priced, Timeline reused = {},
                        Dispatcher* dispatcher = nullptr, std::vector<TaskId>* ran = nullptr);

}  // namespace penstock
