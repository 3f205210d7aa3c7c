#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim/rerun/rerun.hpp"
#include "tests/support/random_system.hpp"

namespace penstock::testing {

/// A number from RapidCheck; to be called inside `rc::check`.
std::uint32_t random_below(std::uint32_t end);

/// The run of a plan from nothing; nothing when it comes to a halt.
std::optional<Timeline> full_run(const PricedPlan& priced);
/// Whether a rerun has the bytes of a full run of what it holds.
bool is_full_run(const Rerun& rerun);

/// A finished run of a system, whose actions take `issue` and `launch` to be launched; nothing when
/// it comes to a halt.
std::optional<Rerun> rerun_of(const System& system, const Conditions& conditions = {},
                              Time issue = {}, Time launch = {});

/// Two physical links of 1e9 bytes/s that all links of a plan share, now and then ranks that stall
/// above some capacity, and slow each other down or wait in other ways.
Conditions random_conditions(const Plan& plan, const Costs& costs);
/// The same conditions for a plan whose links are numbered otherwise.
Conditions conditions_for(const Plan& plan, Conditions conditions);

/// For each task by its text, when it ran; and by which input it was held up, if asked for.
std::map<std::string, std::string> spans_by_text(const Plan& plan, const Timeline& timeline,
                                                 bool with_inputs);

}  // namespace penstock::testing
