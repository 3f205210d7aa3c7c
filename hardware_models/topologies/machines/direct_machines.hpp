#pragma once

#include <cstdint>

#include "hardware_models/topologies/machines/cluster.hpp"

namespace penstock {

// Parameters of machines whose devices have links of their own to each other, without a switch.
// Their defaults are those of NVLink 2 and PCIe 3.0 x16.
constexpr TopologyParameter link_bandwidth{"link_bandwidth_bytes_per_s",
                                           "of one link between two devices, each way",
                                           Measure::bandwidth_bytes_per_s, 25e9};
constexpr TopologyParameter link_latency{"link_latency_us", "of a link between two devices",
                                         Measure::latency_us, 0};
constexpr TopologyParameter devices_per_nic{"devices_per_nic", "devices that share a NIC",
                                            Measure::count, 1};

/// Devices and the memory of their hosts, so many devices a host, joined over PCIe and by nothing
/// else. Where devices forward, routes may lead through them.
Cluster devices_with_hosts(std::uint32_t devices, std::uint32_t per_host, bool forward,
                           const TopologyParameters& parameters);

/// Joins machines, if there are several: the devices that share a NIC reach it over PCIe, and all
/// NICs are at one switch that blocks nothing.
void join_by_nics(Cluster& cluster, std::uint32_t per_machine,
                  const TopologyParameters& parameters);

}  // namespace penstock
