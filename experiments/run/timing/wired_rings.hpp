#pragma once

#include <vector>

#include "hardware_models/collectives/rounds/rounds.hpp"
#include "sim/costs/topology.hpp"

namespace penstock {

/// Rings through all members over links from device to device, each way, no link in two of them:
/// as many as a search finds. Devices of a mesh or a cube mesh, up to twelve, or all of a torus;
/// otherwise none.
std::vector<Cycle> wired_rings(const Topology& topology, const std::vector<Node>& members);

/// Rings through all machines that go round the rings of each: every ring of a machine is opened at
/// each of its members in turn, so that all its links and NICs carry the same. `machines` holds the
/// rings of each machine; those of one machine stay as they are.
std::vector<Cycle> rings_through(const std::vector<std::vector<Cycle>>& machines);

}  // namespace penstock
