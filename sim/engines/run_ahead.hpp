#pragma once

#include <optional>

#include "sim/engines/events.hpp"

namespace penstock {

/// Whether ranks may run ahead of the clock: nothing that one does depends on what others do at the
/// same moment but through the transfers it waits for.
bool may_run_ahead(const Conditions& conditions);

/// The event engine for such conditions. A rank goes on as far as its inputs are known, private
/// links hand over at once, and only transfers over shared links become events.
std::optional<Standstill> run_ahead(const Plan& plan, const Costs& costs,
                                    const Conditions& conditions, Timeline& timeline);

}  // namespace penstock
