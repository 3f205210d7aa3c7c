#pragma once

#include "sim/costs/hardware_model.hpp"
#include "sim/costs/network.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// The network of some hardware with the route of each link of a plan; without links where the
/// hardware shares none. Throws InputError for a link that has no route.
Network network_of(const Plan& plan, const HardwareModel& hardware);

}  // namespace penstock
