#pragma once

#include <optional>

#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/rerun/order_edit.hpp"

namespace penstock {

/// As long as the clock runs.
constexpr double most_picoseconds = 9e18;

/// All launches and tasks one after the other, in picoseconds.
double total_time(const Plan& plan, const Costs& costs);

/// Why costs cannot be those of a plan.
std::optional<Refused> fault_of(const Plan& plan, const Costs& costs);

/// The clock does not run long enough.
Refused beyond_clock();

/// The first task that two costs of a plan price differently, or that they launch at another time;
/// the number of tasks where there is none.
TaskId first_difference(const Plan& plan, const Costs& a, const Costs& b);

}  // namespace penstock
