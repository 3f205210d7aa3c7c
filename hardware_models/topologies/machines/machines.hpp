#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hardware_models/topologies/machines/cluster.hpp"

namespace penstock {

// Shared parameters. Defaults: eight H100 SXM per machine, NVLink 4 with 450 GB/s and PCIe 5.0 x16
// with 64 GB/s each way, one 400 Gbit/s NIC per device.
constexpr TopologyParameter devices_per_node{
    "devices_per_node", "devices per machine, on one NVSwitch", Measure::count, std::nullopt};
constexpr TopologyParameter nvlink_bandwidth{"nvlink_bandwidth_bytes_per_s",
                                             "of a device to and from its NVSwitch, each way",
                                             Measure::bandwidth_bytes_per_s, 450e9};
constexpr TopologyParameter nvlink_latency{
    "nvlink_latency_us", "of a device to or from its NVSwitch", Measure::latency_us, 0};
constexpr TopologyParameter pcie_bandwidth{"pcie_bandwidth_bytes_per_s",
                                           "of a device's PCIe links, each way",
                                           Measure::bandwidth_bytes_per_s, 64e9};
constexpr TopologyParameter pcie_latency{"pcie_latency_us", "of a device's PCIe links",
                                         Measure::latency_us, 0};
constexpr TopologyParameter devices_per_nic{"devices_per_nic", "devices that share a NIC",
                                            Measure::count, 1};
constexpr TopologyParameter nic_bandwidth{"nic_bandwidth_bytes_per_s",
                                          "of a NIC to and from the network, each way",
                                          Measure::bandwidth_bytes_per_s, 50e9};
constexpr TopologyParameter nic_latency{"nic_latency_us", "of a NIC to or from the network",
                                        Measure::latency_us, 0};

/// Machines of equal size, the last possibly smaller. By device: its NVSwitch, the link from it,
/// its NIC, which the device before it may have too, and the link to it.
struct Machines {
  Cluster cluster;
  std::vector<Node> nvswitch;
  std::vector<std::uint32_t> from_nvswitch;
  std::vector<Node> nic;
  std::vector<Node> incoming;  // the NIC as what arrives sees it
  std::vector<std::uint32_t> to_nic;
};

/// Each device has links each way to the NVSwitch of its machine and over PCIe to host memory. No
/// NICs yet.
Machines nvswitch_machines(std::uint32_t devices, std::uint32_t per_machine,
                           const TopologyParameters& parameters);

/// Gives devices NICs over PCIe: each one for as many consecutive devices of a machine as share it.
void add_nics(Machines& machines, std::uint32_t per_machine, const TopologyParameters& parameters);

/// Connects the NIC of a device with a switch of the network, each way.
void join_nic(Machines& machines, std::size_t device, Node network, const Speed& speed);

}  // namespace penstock
