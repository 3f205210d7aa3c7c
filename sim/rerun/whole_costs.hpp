#pragma once

#include <optional>

#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/rerun/order_edit.hpp"

namespace penstock {

/// The range of the clock.
constexpr double most_picoseconds = 9e18;

/// All launches and tasks in sequence, in picoseconds.
double total_time(const Plan& plan, const Costs& costs);

/// Why costs cannot belong to a plan.
std::optional<Refused> fault_of(const Plan& plan, const Costs& costs);

/// The sum of times exceeds the clock.
Refused beyond_clock();

/// The first task that two costs of a plan price or launch differently; the number of tasks if
/// there is none.
TaskId first_difference(const Plan& plan, const Costs& a, const Costs& b);

}  // namespace penstock
