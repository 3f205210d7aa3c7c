#include "hardware_models/topologies/machines/direct_machines.hpp"

#include <fmt/format.h>

namespace penstock {

Cluster devices_with_hosts(std::uint32_t devices, std::uint32_t per_host, bool forward,
                           const TopologyParameters& parameters) {
  Cluster cluster;
  Topology& topology = cluster.topology;
  for (std::uint32_t i = 0; i < devices; ++i) {
    if (i % per_host == 0) {
      cluster.host_of.push_back(topology.add_end(fmt::format("host{}", i / per_host)));
    } else {
      cluster.host_of.push_back(cluster.host_of.back());
    }
    const std::string name = fmt::format("{}", i);
    cluster.devices.push_back(forward ? topology.add_switch(name) : topology.add_end(name));
    topology.connect_both_ways(cluster.devices.back(), cluster.host_of.back(),
                               parameters.speed("pcie"));
  }
  return cluster;
}

void join_by_nics(Cluster& cluster, std::uint32_t per_machine,
                  const TopologyParameters& parameters) {
  if (cluster.devices.size() <= per_machine) return;
  Topology& topology = cluster.topology;
  const std::uint32_t per_nic = parameters.count("devices_per_nic");
  const Node network = topology.add_switch("network");
  Node nic{};
  for (std::uint32_t i = 0; i < cluster.devices.size(); ++i) {
    if (i % per_machine % per_nic == 0) {
      nic = topology.add_switch(fmt::format("nic{}", i));
      topology.connect_both_ways(nic, network, parameters.speed("nic"));
    }
    topology.connect_both_ways(cluster.devices[i], nic, parameters.speed("pcie"));
  }
}

}  // namespace penstock
