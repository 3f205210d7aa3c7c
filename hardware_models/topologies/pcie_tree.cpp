#include <fmt/format.h>

#include <array>

#include "hardware_models/topologies/machines/machines.hpp"
#include "hardware_models/topologies/registry.hpp"

namespace penstock::pcie_tree_file {
namespace {

constexpr std::array takes{
    count_of("devices_per_switch", "devices under one PCIe switch", std::nullopt),
    pcie_bandwidth,
    pcie_latency,
    bandwidth_of("uplink_bandwidth_bytes_per_s", "of a PCIe switch to and from the root, each way",
                 64e9),
    latency_of("uplink_latency_us", "of a PCIe switch to or from the root"),
    bandwidth_of("host_bandwidth_bytes_per_s",
                 "of the host's memory to and from the root, each way", 300e9),
    latency_of("host_latency_us", "of the host's memory to or from the root")};

/// One machine without NVLink: traffic out of a PCIe switch shares its uplink.
Cluster make(std::uint32_t devices, const TopologyParameters& parameters) {
  Cluster cluster;
  Topology& topology = cluster.topology;
  const std::uint32_t per_switch = parameters.whole("devices_per_switch");
  const Node root = topology.add_switch("root");
  const Node host = topology.add_end("host0");
  topology.connect_both_ways(root, host, parameters.speed("host"));
  for (std::uint32_t first = 0; first < devices; first += per_switch) {
    const Node pcie = topology.add_switch(fmt::format("switch{}", first / per_switch));
    topology.connect_both_ways(pcie, root, parameters.speed("uplink"));
    for (std::uint32_t i = first; i < devices && i - first < per_switch; ++i) {
      cluster.devices.push_back(topology.add_end(fmt::format("{}", i)));
      cluster.host_of.push_back(host);
      topology.connect_both_ways(cluster.devices.back(), pcie, parameters.speed("pcie"));
    }
  }
  return cluster;
}

}  // namespace

constinit extern const TopologyEntry pcie_tree_entry{
    "pcie-tree",
    "one machine: devices under PCIe switches; switches and host memory under one root", takes,
    make, /*one_machine=*/true};

}  // namespace penstock::pcie_tree_file
