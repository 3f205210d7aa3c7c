#include <array>

#include "hardware_models/topologies/machines/machines.hpp"
#include "hardware_models/topologies/registry.hpp"

namespace penstock {
namespace {

constexpr std::array takes{nvlink_bandwidth, nvlink_latency, pcie_bandwidth, pcie_latency};

/// One machine: what limits a transfer is the link up from its device, and the link down.
Cluster make(std::uint32_t devices, const TopologyParameters& parameters) {
  return nvswitch_machines(devices, devices, parameters).cluster;
}

}  // namespace

constinit extern const TopologyEntry nvswitch_entry{
    "nvswitch", "one machine, each device with a link each way to one switch that blocks nothing",
    takes, make, /*one_machine=*/true};

}  // namespace penstock
