#pragma once

#include <vector>

#include "hardware_models/collectives/rounds/rounds.hpp"
#include "sim/costs/topology.hpp"

namespace penstock {

/// Microseconds of rounds over the links of a topology. The event engine runs each distinct round
/// as flows with max-min fair sharing; a round ends when all flows have arrived. `nodes` gives each
/// member's node. A round must fit in the clock, 104 days. Throws InputError when there is no route
/// between two members.
double flows_us(const Rounds& rounds, const Router& router, const std::vector<Node>& members);

}  // namespace penstock
