#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "hardware_models/topologies/machines/cluster.hpp"

namespace penstock {

/// One kind of topology. A kind is one .cpp of this folder.
struct TopologyEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const TopologyParameter> parameters;
  /// So many devices or more, named "0", "1", …, and all that joins them.
  Cluster (*make)(std::uint32_t devices, const TopologyParameters& parameters);
  bool one_machine = false;  // however many devices there are
  bool direct = false;       // devices have links to each other rather than to a switch
};

/// All kinds of topology, by name.
std::span<const TopologyEntry* const> topology_entries();

/// Throws InputError, its JSON pointer below /hardware/topology, for an unknown kind and for
/// parameters that it does not take.
void check_topology(std::string_view kind, const std::map<std::string, double>& parameters);

/// Calls the kind by its name after checking its parameters. Throws InputError with a JSON pointer
/// below /hardware/topology.
Cluster make_cluster(std::string_view kind, std::uint32_t devices,
                     const std::map<std::string, double>& parameters);

}  // namespace penstock
