#include <algorithm>
#include <array>

#include "hardware_models/topologies/machines/machines.hpp"
#include "hardware_models/topologies/registry.hpp"

namespace penstock::mesh_file {
namespace {

constexpr std::array takes{
    count_of("devices_per_node", "devices per machine, each connected to all others", std::nullopt),
    link_bandwidth,
    link_latency,
    devices_per_nic,
    pcie_bandwidth,
    pcie_latency,
    nic_bandwidth,
    nic_latency};

Cluster make(std::uint32_t devices, const TopologyParameters& parameters) {
  const std::uint32_t per_machine = parameters.whole("devices_per_node");
  Cluster cluster = devices_with_hosts(devices, per_machine, /*forward=*/false, parameters);
  for (std::uint32_t first = 0; first < devices; first += per_machine) {
    const std::uint32_t end = std::min(devices, first + per_machine);
    for (std::uint32_t one = first; one < end; ++one) {
      for (std::uint32_t other = one + 1; other < end; ++other) {
        cluster.topology.connect_both_ways(cluster.devices[one], cluster.devices[other],
                                           parameters.speed("link"));
      }
    }
  }
  join_by_nics(cluster, per_machine, parameters);
  return cluster;
}

}  // namespace

constinit extern const TopologyEntry mesh_entry{
    "mesh",
    "machines with a link each way between all pairs of devices; NICs at one switch",
    takes,
    make,
    /*one_machine=*/false,
    /*direct=*/true};

}  // namespace penstock::mesh_file
