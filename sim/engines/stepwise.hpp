#pragma once

#include <optional>
#include <vector>

#include "sim/engines/events.hpp"

namespace penstock {

class Dispatcher;

/// The event engine for conditions under which what a rank can do depends on what goes on
/// elsewhere at that moment: every start and end is an event. The timeline must be prepared. With a
/// dispatcher, it decides what ranks do next, and `ran` gets all their tasks as they started.
std::optional<Standstill> run_stepwise(const Plan& plan, const Costs& costs,
                                       const Conditions& conditions, Timeline& timeline,
                                       Dispatcher* dispatcher = nullptr,
                                       std::vector<TaskId>* ran = nullptr);

}  // namespace penstock
