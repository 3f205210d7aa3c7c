#pragma once

#include <vector>

#include "hardware_models/collectives/rounds/rounds.hpp"
#include "sim/costs/topology.hpp"

namespace penstock {

/// How long rounds take over the links of a topology, in microseconds: the event engine runs each
/// different round as flows that share links max-min fairly, and it is over when all have arrived.
/// By member: the node that it stands on. A round must take less than the clock holds, 104 days.
/// Throws InputError when no way leads from one to another.
double flows_us(const Rounds& rounds, const Router& router, const std::vector<Node>& members);

}  // namespace penstock
