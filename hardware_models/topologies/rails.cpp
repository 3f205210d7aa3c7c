#include <fmt/format.h>

#include <array>

#include "hardware_models/topologies/machines/machines.hpp"
#include "hardware_models/topologies/registry.hpp"

namespace penstock::rails_file {
namespace {

constexpr std::array takes{devices_per_node, nvlink_bandwidth, nvlink_latency, devices_per_nic,
                           pcie_bandwidth,   pcie_latency,     nic_bandwidth,  nic_latency};

/// A device forwards from its NVLink to its NIC only: traffic to another local rank changes rails
/// inside the sending machine, as with NCCL's PXN. Both hops are those of the device itself, so
/// they share its links.
void add_relay(Machines& machines, std::size_t device) {
  Topology& topology = machines.cluster.topology;
  const Node relay = topology.add_switch(fmt::format("{} on the way", device));
  topology.hops.push_back({machines.nvswitch[device], relay, machines.from_nvswitch[device]});
  topology.hops.push_back({relay, machines.nic[device], machines.to_nic[device]});
}

/// All machines are whole, even when the last devices are not used: a missing device would leave a
/// rail unreachable from its machine.
Cluster make(std::uint32_t devices, const TopologyParameters& parameters) {
  const std::uint32_t per_node = parameters.whole("devices_per_node");
  const std::uint32_t built = (devices + per_node - 1) / per_node * per_node;
  Machines machines = nvswitch_machines(built, per_node, parameters);
  const std::uint32_t per_nic = parameters.whole("devices_per_nic");
  add_nics(machines, per_node, parameters);
  Topology& topology = machines.cluster.topology;
  std::vector<Node> rails;
  for (std::uint32_t i = 0; i < per_node; i += per_nic) {
    rails.push_back(topology.add_switch(fmt::format("rail{}", i / per_nic)));
  }
  for (std::size_t device = 0; device < built; ++device) {
    const std::size_t local = device % per_node;
    if (local % per_nic == 0) {
      join_nic(machines, device, rails[local / per_nic], parameters.speed("nic"));
    }
    add_relay(machines, device);
  }
  return std::move(machines.cluster);
}

}  // namespace

constinit extern const TopologyEntry rails_entry{
    "rails", "machines with an NVSwitch; NIC i of every machine at rail switch i", takes, make};

}  // namespace penstock::rails_file
