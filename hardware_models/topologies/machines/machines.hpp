#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/costs/topology.hpp"

namespace penstock {

/// Machines and their interconnect.
struct Cluster {
  Topology topology;
  std::vector<Node> devices;
  std::vector<Node> host_of;  // by device: the host memory of its machine
};

/// The unit of a topology parameter.
enum class Measure : std::uint8_t { count, bandwidth_bytes_per_s, latency_us };

/// A parameter of a topology.
struct TopologyParameter {
  std::string_view name;
  std::string_view summary;
  Measure measure;
  std::optional<double> otherwise;  // default; without it the parameter is required
};

/// A link has two parameters: "nic" has nic_bandwidth_bytes_per_s and nic_latency_us.
class TopologyParameters {
 public:
  explicit TopologyParameters(std::map<std::string, double, std::less<>> values)
      : values_(std::move(values)) {}

  std::uint32_t count(std::string_view name) const;
  Speed speed(std::string_view link) const;

 private:
  std::map<std::string, double, std::less<>> values_;
};

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

// Parameters of machines with direct links between devices. Defaults: NVLink 2 and PCIe 3.0 x16.
constexpr TopologyParameter link_bandwidth{"link_bandwidth_bytes_per_s",
                                           "of one link between two devices, each way",
                                           Measure::bandwidth_bytes_per_s, 25e9};
constexpr TopologyParameter link_latency{"link_latency_us", "of a link between two devices",
                                         Measure::latency_us, 0};

/// Devices and host memory, `per_host` devices per host, connected by PCIe only. When devices
/// forward, routes may pass through them.
Cluster devices_with_hosts(std::uint32_t devices, std::uint32_t per_host, bool forward,
                           const TopologyParameters& parameters);

/// Connects machines, if there are several: devices that share a NIC reach it over PCIe, and all
/// NICs are at one non-blocking switch.
void join_by_nics(Cluster& cluster, std::uint32_t per_machine,
                  const TopologyParameters& parameters);

}  // namespace penstock
