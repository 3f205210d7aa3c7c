#include <fmt/format.h>

#include <array>

#include "hardware_models/topologies/machines/machines.hpp"
#include "hardware_models/topologies/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock::cube_mesh_file {
namespace {

constexpr std::uint32_t per_machine = 8;

constexpr std::array takes{
    count_of("links_per_device", "4 (one per neighbour) or 6 (two to some neighbours)", 6),
    link_bandwidth,
    link_latency,
    devices_per_nic,
    pcie_bandwidth,
    pcie_latency,
    nic_bandwidth,
    nic_latency};

/// Two devices of a machine and the links between them, out of six per device.
struct Neighbours {
  std::uint32_t one;
  std::uint32_t other;
  std::uint32_t links;
};

/// The edges of a cube and both diagonals of two faces: the wiring of a DGX-1 as its driver shows
/// it.
constexpr std::array<Neighbours, 16> wiring{{{0, 1, 1},
                                             {0, 2, 1},
                                             {0, 3, 2},
                                             {1, 2, 2},
                                             {1, 3, 1},
                                             {2, 3, 2},
                                             {4, 5, 1},
                                             {4, 6, 1},
                                             {4, 7, 2},
                                             {5, 6, 2},
                                             {5, 7, 1},
                                             {6, 7, 2},
                                             {0, 4, 2},
                                             {1, 5, 2},
                                             {2, 6, 1},
                                             {3, 7, 1}}};

/// Several links to one neighbour act as one.
void wire(Cluster& cluster, std::uint32_t first, bool doubled, Speed speed) {
  const double one_link = speed.bandwidth_bytes_per_s;
  for (const Neighbours& pair : wiring) {
    speed.bandwidth_bytes_per_s = one_link * (doubled ? pair.links : 1);
    cluster.topology.connect_both_ways(cluster.devices[first + pair.one],
                                       cluster.devices[first + pair.other], speed);
  }
}

/// Machines are whole, even when the last devices are not used: routes pass through them.
Cluster make(std::uint32_t devices, const TopologyParameters& parameters) {
  const std::uint32_t links = parameters.whole("links_per_device");
  if (links != 4 && links != 6) {
    throw InputError("/hardware/topology/links_per_device",
                     fmt::format("{} is not possible; a cube mesh has 4 or 6", links));
  }
  const std::uint32_t built = (devices + per_machine - 1) / per_machine * per_machine;
  Cluster cluster = devices_with_hosts(built, per_machine, /*forward=*/true, parameters);
  for (std::uint32_t first = 0; first < built; first += per_machine) {
    wire(cluster, first, links == 6, parameters.speed("link"));
  }
  join_by_nics(cluster, per_machine, parameters);
  return cluster;
}

}  // namespace

constinit extern const TopologyEntry cube_mesh_entry{
    "cube-mesh",
    "machines of eight forwarding devices, wired as in a DGX-1; NICs at one switch",
    takes,
    make,
    /*one_machine=*/false,
    /*direct=*/true};

}  // namespace penstock::cube_mesh_file
