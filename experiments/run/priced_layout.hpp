#pragma once

#include <variant>

#include "experiments/run/finding.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/plan/extras.hpp"

namespace penstock {

/// Refuses a profile that matches no layer. Throws InputError without a file's name.
void check_profile(const Layout& layout);
/// Refuses stragglers among replicas that do not exist, and stalling without a capacity. Throws
/// InputError without a file's name.
void check_conditions(const Layout& layout);

/// What a plan of a layout runs under.
Conditions conditions_for(const Layout& layout, const Plan& plan, const HardwareModel& hardware);

/// Prices a plan that was lowered from this layout, without chance.
PricedPlan price_lowered(Plan plan, const Layout& layout, const HardwareModel& hardware);

/// Lowers and prices an order of a layout, without chance. The activations of the layout are
/// already encoded.
std::variant<PricedPlan, Finding> price_layout(const Layout& layout, const Schedule& order,
                                               const Extras& extras, const HardwareModel& hardware);

}  // namespace penstock
