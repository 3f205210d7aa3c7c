#pragma once

#include <optional>

#include "sim/events.hpp"

namespace penstock {

/// The event engine for conditions under which what a rank can do depends on what goes on
/// elsewhere at that moment: every start and end is an event.
std::optional<Standstill> run_stepwise(const Plan& plan, const Costs& costs,
                                       const Conditions& conditions, Timeline& timeline);

}  // namespace penstock
