#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "hardware_models/topologies/machines/machines.hpp"

namespace penstock {

/// A topology: one .cpp in this folder.
struct TopologyEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const Parameter> parameters;
  /// A cluster with at least this many devices, named "0", "1", ….
  Cluster (*make)(std::uint32_t devices, const TopologyParameters& parameters);
  bool one_machine = false;  // for any number of devices
  bool direct = false;       // devices have links to each other, not to a switch
};

/// All kinds of topology, by name.
std::span<const TopologyEntry* const> topology_entries();

/// Throws InputError with a pointer below /hardware/topology for an unknown topology and for
/// unknown parameters.
void check_topology(std::string_view kind, const std::map<std::string, double>& parameters);

/// Makes a cluster after checking the parameters; `nic_sharers` devices of a rank share a NIC.
/// Throws InputError with a JSON pointer below /hardware/topology.
Cluster make_cluster(std::string_view kind, std::uint32_t devices,
                     const std::map<std::string, double>& parameters,
                     std::uint32_t nic_sharers = 1);

}  // namespace penstock
