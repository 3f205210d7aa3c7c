#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim/rerun/rerun.hpp"
#include "tests/support/random_system.hpp"

namespace penstock::testing {

/// A number from RapidCheck; call inside `rc::check`.
std::uint32_t random_below(std::uint32_t end);

/// The full run of a plan; nothing if it deadlocks.
std::optional<Timeline> full_run(const PricedPlan& priced);
/// Whether a rerun equals a full run of its plan, byte for byte.
bool is_full_run(const Rerun& rerun);

/// A finished run of a system with these launch costs; nothing if it deadlocks.
std::optional<Rerun> rerun_of(const System& system, const Conditions& conditions = {},
                              Time issue = {}, Time launch = {});

/// Two physical links of 1e9 bytes/s shared by all links of a plan. Sometimes also ranks that stall
/// above a capacity, slow each other down or wait in other ways.
Conditions random_conditions(const Plan& plan, const Costs& costs);
/// The same conditions for a plan with other link numbers.
Conditions conditions_for(const Plan& plan, Conditions conditions);

/// By text of each task: when it ran and, if requested, its last input.
std::map<std::string, std::string> spans_by_text(const Plan& plan, const Timeline& timeline,
                                                 bool with_inputs);

}  // namespace penstock::testing
