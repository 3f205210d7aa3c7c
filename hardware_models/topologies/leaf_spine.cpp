#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hardware_models/topologies/machines/machines.hpp"
#include "hardware_models/topologies/registry.hpp"

namespace penstock::leaf_spine_file {
namespace {

constexpr std::array takes{
    devices_per_node,
    count_of("nodes_per_leaf", "machines per leaf", std::nullopt),
    count_of("spines", "spine switches, each connected to every leaf", std::nullopt),
    nvlink_bandwidth,
    nvlink_latency,
    devices_per_nic,
    pcie_bandwidth,
    pcie_latency,
    nic_bandwidth,
    nic_latency,
    bandwidth_of(
        "uplink_bandwidth_bytes_per_s",
        "of a leaf to and from each spine, each way; oversubscription is devices_per_node / "
        "devices_per_nic * nodes_per_leaf * NIC / (spines * uplink)",
        std::nullopt),
    latency_of("uplink_latency_us", "of a leaf to or from a spine")};

/// Connects each leaf to all spines.
std::vector<Node> add_leaves(Topology& topology, std::uint32_t leaves,
                             const TopologyParameters& parameters) {
  std::vector<Node> spines;
  for (std::uint32_t i = 0; i < parameters.whole("spines"); ++i) {
    spines.push_back(topology.add_switch(fmt::format("spine{}", i)));
  }
  std::vector<Node> all;
  for (std::uint32_t i = 0; i < leaves; ++i) {
    all.push_back(topology.add_switch(fmt::format("leaf{}", i)));
    for (const Node spine : spines) {
      topology.connect_both_ways(all.back(), spine, parameters.speed("uplink"));
    }
  }
  return all;
}

Cluster make(std::uint32_t devices, const TopologyParameters& parameters) {
  const std::uint32_t per_node = parameters.whole("devices_per_node");
  const std::uint64_t per_leaf = std::uint64_t{per_node} * parameters.whole("nodes_per_leaf");
  const std::uint32_t per_machine = std::min(per_node, devices);
  Machines machines = nvswitch_machines(devices, per_machine, parameters);
  add_nics(machines, per_machine, parameters);
  Topology& topology = machines.cluster.topology;
  const auto leaves = static_cast<std::uint32_t>((devices + per_leaf - 1) / per_leaf);
  const std::vector<Node> leaf = add_leaves(topology, leaves, parameters);
  const std::uint32_t per_nic = parameters.whole("devices_per_nic");
  for (std::size_t device = 0; device < devices; ++device) {
    if (device % per_machine % per_nic != 0) continue;
    join_nic(machines, device, leaf[device / per_leaf], parameters.speed("nic"));
  }
  return std::move(machines.cluster);
}

}  // namespace

constinit extern const TopologyEntry leaf_spine_entry{
    "leaf-spine",
    "machines with an NVSwitch, NICs at leaf switches, every leaf connected to all spines", takes,
    make};

}  // namespace penstock::leaf_spine_file
