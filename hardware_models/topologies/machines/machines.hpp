#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/limits.hpp"
#include "sim/base/parameters.hpp"
#include "sim/costs/topology.hpp"

namespace penstock {

/// Machines and their interconnect.
struct Cluster {
  Topology topology;
  std::vector<Node> devices;
  std::vector<Node> host_of;  // by device: the host memory of its machine
};

/// The values of a topology's parameters. A link has two: "nic" has nic_bandwidth_bytes_per_s and
/// nic_latency_us.
class TopologyParameters : public SettledNumbers {
 public:
  TopologyParameters(NamedNumbers values, std::uint32_t nic_sharers)
      : SettledNumbers(std::move(values)), nic_sharers_(nic_sharers) {}

  /// Of a NIC: the share of one sharer.
  Speed speed(std::string_view link) const;

 private:
  std::uint32_t nic_sharers_;
};

// Kinds of parameters.
constexpr Parameter count_of(std::string_view name, std::string_view summary,
                             std::optional<double> otherwise) {
  return {name, summary, otherwise, 1, Limits::stages};
}
constexpr Parameter bandwidth_of(std::string_view name, std::string_view summary,
                                 std::optional<double> otherwise) {
  return {name, summary, otherwise, 1, Limits::bytes, /*whole=*/false};
}
constexpr Parameter latency_of(std::string_view name, std::string_view summary) {
  return {name, summary, 0, 0, Limits::time_us, /*whole=*/false};
}

// Shared parameters. Defaults: eight H100 SXM per machine, NVLink 4 with 450 GB/s and PCIe 5.0 x16
// with 64 GB/s each way, one 400 Gbit/s NIC per device.
constexpr Parameter devices_per_node =
    count_of("devices_per_node", "devices per machine, on one NVSwitch", std::nullopt);
constexpr Parameter nvlink_bandwidth = bandwidth_of(
    "nvlink_bandwidth_bytes_per_s", "of a device to and from its NVSwitch, each way", 450e9);
constexpr Parameter nvlink_latency =
    latency_of("nvlink_latency_us", "of a device to or from its NVSwitch");
constexpr Parameter pcie_bandwidth =
    bandwidth_of("pcie_bandwidth_bytes_per_s", "of a device's PCIe links, each way", 64e9);
constexpr Parameter pcie_latency = latency_of("pcie_latency_us", "of a device's PCIe links");
constexpr Parameter devices_per_nic = count_of("devices_per_nic", "devices that share a NIC", 1);
constexpr Parameter nic_bandwidth =
    bandwidth_of("nic_bandwidth_bytes_per_s", "of a NIC to and from the network, each way", 50e9);
constexpr Parameter nic_latency = latency_of("nic_latency_us", "of a NIC to or from the network");

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

// Parameters of machines with direct links between devices. Defaults: NVLink 2 and PCIe 3.0 x16.
constexpr Parameter link_bandwidth =
    bandwidth_of("link_bandwidth_bytes_per_s", "of one link between two devices, each way", 25e9);
constexpr Parameter link_latency = latency_of("link_latency_us", "of a link between two devices");

/// Devices and host memory, `per_host` devices per host, connected by PCIe only. When devices
/// forward, routes may pass through them.
Cluster devices_with_hosts(std::uint32_t devices, std::uint32_t per_host, bool forward,
                           const TopologyParameters& parameters);

/// Connects machines, if there are several: devices that share a NIC reach it over PCIe, and all
/// NICs are at one non-blocking switch.
void join_by_nics(Cluster& cluster, std::uint32_t per_machine,
                  const TopologyParameters& parameters);

}  // namespace penstock
