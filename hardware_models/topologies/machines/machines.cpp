#include "hardware_models/topologies/machines/machines.hpp"

#include <fmt/format.h>

namespace penstock {
namespace {

void add_device(Machines& machines, Node nvswitch, Node host,
                const TopologyParameters& parameters) {
  Cluster& cluster = machines.cluster;
  const Node device = cluster.topology.add_end(fmt::format("{}", cluster.devices.size()));
  const Speed nvlink = parameters.speed("nvlink");
  cluster.topology.connect(device, nvswitch, nvlink);
  machines.from_nvswitch.push_back(cluster.topology.connect(nvswitch, device, nvlink));
  cluster.topology.connect_both_ways(device, host, parameters.speed("pcie"));
  cluster.devices.push_back(device);
  cluster.host_of.push_back(host);
  machines.nvswitch.push_back(nvswitch);
}

}  // namespace

Machines nvswitch_machines(std::uint32_t devices, std::uint32_t per_machine,
                           const TopologyParameters& parameters) {
  Machines machines;
  for (std::uint32_t first = 0; first < devices; first += per_machine) {
    Topology& topology = machines.cluster.topology;
    const Node nvswitch = topology.add_switch(fmt::format("nvswitch{}", first / per_machine));
    const Node host = topology.add_end(fmt::format("host{}", first / per_machine));
    for (std::uint32_t i = 0; i < per_machine && first + i < devices; ++i) {
      add_device(machines, nvswitch, host, parameters);
    }
  }
  return machines;
}

void add_nics(Machines& machines, const TopologyParameters& parameters) {
  Topology& topology = machines.cluster.topology;
  for (const Node device : machines.cluster.devices) {
    const Node nic = topology.add_switch("nic" + topology.places[index(device)].name);
    machines.to_nic.push_back(topology.connect(device, nic, parameters.speed("pcie")));
    topology.connect(nic, device, parameters.speed("pcie"));
    machines.nic.push_back(nic);
  }
}

}  // namespace penstock
