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

void add_nics(Machines& machines, std::uint32_t per_machine, const TopologyParameters& parameters) {
  Topology& topology = machines.cluster.topology;
  const std::uint32_t per_nic = parameters.whole("devices_per_nic");
  Node nic{}, incoming{};
  for (std::uint32_t i = 0; i < machines.cluster.devices.size(); ++i) {
    const Node device = machines.cluster.devices[i];
    if (i % per_machine % per_nic == 0) {
      const std::string name = "nic" + topology.places[index(device)].name;
      nic = topology.add_switch(name);
      // Otherwise devices that share a NIC would be as near over it as over their NVSwitch.
      incoming = per_nic == 1 ? nic : topology.add_switch(name + " in");
    }
    machines.to_nic.push_back(topology.connect(device, nic, parameters.speed("pcie")));
    topology.connect(incoming, device, parameters.speed("pcie"));
    machines.nic.push_back(nic);
    machines.incoming.push_back(incoming);
  }
}

void join_nic(Machines& machines, std::size_t device, Node network, const Speed& speed) {
  machines.cluster.topology.connect(machines.nic[device], network, speed);
  machines.cluster.topology.connect(network, machines.incoming[device], speed);
}

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
  const std::uint32_t per_nic = parameters.whole("devices_per_nic");
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
