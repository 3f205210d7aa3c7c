#pragma once

#include "sim/costs/hardware_model.hpp"
#include "sim/costs/network.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// The network of some hardware with a route for each link of a plan; empty when no links are
/// shared. Throws InputError for a link without a route.
Network network_of(const Plan& plan, const HardwareModel& hardware);

}  // namespace penstock
