#pragma once

#include <cstdint>

#include "hardware_models/topologies/machines/machines.hpp"

namespace penstock {

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
