#pragma once

#include <vector>

#include "hardware_models/collectives/rounds/rounds.hpp"
#include "sim/costs/topology.hpp"

namespace penstock {

/// Rings through all members over links from device to device, each way, no link in two of them:
/// as many as a search finds. Devices of a mesh or a cube mesh, up to twelve, or all of a torus;
/// otherwise none.
std::vector<Cycle> wired_rings(const Topology& topology, const std::vector<Node>& members);

}  // namespace penstock
