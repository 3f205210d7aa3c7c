#include <array>

#include "hardware_models/topologies/machines/machines.hpp"
#include "hardware_models/topologies/registry.hpp"

namespace penstock::nvswitch_file {
namespace {

constexpr std::array takes{nvlink_bandwidth, nvlink_latency, pcie_bandwidth, pcie_latency};

/// One machine: the device's uplink and downlink limit a transfer.
Cluster make(std::uint32_t devices, const TopologyParameters& parameters) {
  return nvswitch_machines(devices, devices, parameters).cluster;
}

}  // namespace

constinit extern const TopologyEntry nvswitch_entry{
    "nvswitch", "one machine: a link each way from every device to a non-blocking switch", takes,
    make, /*one_machine=*/true};

}  // namespace penstock::nvswitch_file
