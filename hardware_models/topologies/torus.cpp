#include <fmt/format.h>

#include <array>

#include "hardware_models/topologies/machines/machines.hpp"
#include "hardware_models/topologies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock::torus_file {
namespace {

constexpr std::array takes{
    count_of("x", "devices along the first dimension, of consecutive numbers", std::nullopt),
    count_of("y", "devices along the second dimension", std::nullopt),
    count_of("z", "devices along the third dimension", 1),
    link_bandwidth,
    link_latency,
    count_of("devices_per_host", "devices per host", 4),
    pcie_bandwidth,
    pcie_latency};

/// The number of devices; throws when it does not fit.
std::uint32_t size_of(const std::array<std::uint32_t, 3>& lengths, std::uint32_t devices) {
  std::uint64_t size = 1;
  for (const std::uint32_t length : lengths) size *= length;
  const auto what = [&] {
    return fmt::format("a torus of {} has {} devices", fmt::join(lengths, " x "), size);
  };
  if (size > Limits::network_links) {
    throw InputError("/hardware/topology",
                     fmt::format("{}; at most {} are accepted", what(), Limits::network_links));
  }
  if (size < devices) {
    throw InputError("/hardware/topology",
                     fmt::format("{}, but the degrees of /parallel need {}; give larger x, y or z",
                                 what(), devices));
  }
  return static_cast<std::uint32_t>(size);
}

/// A ring along each dimension. In a dimension of two, both directions are the same link.
Cluster make(std::uint32_t devices, const TopologyParameters& parameters) {
  const std::array lengths{parameters.whole("x"), parameters.whole("y"), parameters.whole("z")};
  const std::uint32_t size = size_of(lengths, devices);
  Cluster cluster = devices_with_hosts(size, parameters.whole("devices_per_host"),
                                       /*forward=*/true, parameters);
  std::uint32_t stride = 1;
  for (const std::uint32_t length : lengths) {
    for (std::uint32_t device = 0; device < size; ++device) {
      const std::uint32_t place = device / stride % length;
      if (length == 1 || (length == 2 && place == 1)) continue;
      const std::uint32_t next = device - place * stride + (place + 1) % length * stride;
      cluster.topology.connect_both_ways(cluster.devices[device], cluster.devices[next],
                                         parameters.speed("link"));
    }
    stride *= length;
  }
  return cluster;
}

}  // namespace

constinit extern const TopologyEntry torus_entry{
    "torus",
    "one slice of forwarding devices in rings along two or three dimensions",
    takes,
    make,
    /*one_machine=*/false,
    /*direct=*/true};

}  // namespace penstock::torus_file
