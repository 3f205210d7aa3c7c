#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "hardware_models/topologies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/parameters.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {
namespace {

using Parameters = std::map<std::string, double>;

/// A kind with its routes.
struct Wired {
  explicit Wired(Cluster cluster)
      : devices(std::move(cluster.devices)),
        host_of(std::move(cluster.host_of)),
        router(std::move(cluster.topology)) {}

  std::vector<Node> devices;
  std::vector<Node> host_of;
  Router router;
};

Wired wired(std::string_view kind, std::uint32_t devices, const Parameters& parameters) {
  return Wired(make_cluster(kind, devices, parameters));
}

/// The links between two nodes; fails the test when there are none.
std::vector<NetworkLink> links_between(const Wired& wired, Node from, Node to) {
  const auto route = wired.router.route(from, to);
  REQUIRE(route);
  std::vector<NetworkLink> links;
  for (const std::uint32_t link : *route) links.push_back(wired.router.topology().links[link]);
  return links;
}

std::vector<NetworkLink> links_between(const Wired& wired, std::uint32_t from, std::uint32_t to) {
  return links_between(wired, wired.devices[from], wired.devices[to]);
}

std::string names(const std::vector<NetworkLink>& links) {
  std::string text;
  for (const NetworkLink& link : links) text += (text.empty() ? "" : " ") + link.name;
  return text;
}

std::string between(const Wired& wired, std::uint32_t from, std::uint32_t to) {
  return names(links_between(wired, from, to));
}

std::string to_host(const Wired& wired, std::uint32_t device) {
  return names(links_between(wired, wired.devices[device], wired.host_of[device]));
}

double slowest(const Wired& wired, std::uint32_t from, std::uint32_t to) {
  double bandwidth = 1e300;
  for (const NetworkLink& link : links_between(wired, from, to)) {
    bandwidth = std::min(bandwidth, link.bandwidth_bytes_per_s);
  }
  return bandwidth;
}

/// The links on the way, their lowest bandwidth in GB/s and all their latencies:
/// "0>switch0 switch0>3: 30 GB/s, 2 us".
std::string way(const Wired& wired, std::uint32_t from, std::uint32_t to) {
  double latency_us = 0;
  for (const NetworkLink& link : links_between(wired, from, to)) latency_us += link.latency_us;
  return fmt::format("{}: {} GB/s, {} us", between(wired, from, to), slowest(wired, from, to) / 1e9,
                     latency_us);
}

/// Whether a route leads from one node to the other over hops of its links, through what forwards.
bool joins_up(const Topology& topology, const Route& route, Node from, Node to) {
  std::set<Node> at{from};
  for (const std::uint32_t link : route) {
    std::set<Node> next;
    for (const Topology::Hop& hop : topology.hops) {
      if (hop.link == link && at.contains(hop.from)) next.insert(hop.to);
    }
    at = next;
  }
  return at.contains(to);
}

/// What every kind needs, on 12 devices: three machines of four, or what comes to the like.
Parameters parameters_of(const TopologyEntry& entry) {
  const Parameters known{{"devices_per_node", 4},
                         {"nodes_per_leaf", 2},
                         {"spines", 2},
                         {"devices_per_switch", 4},
                         {"uplink_bandwidth_bytes_per_s", 25e9},
                         {"x", 4},
                         {"y", 3}};
  Parameters needed;
  for (const Parameter& parameter : entry.parameters) {
    if (!parameter.otherwise)
      needed[std::string(parameter.name)] = known.at(std::string(parameter.name));
  }
  return needed;
}

std::string refusal(std::string_view kind, const Parameters& parameters) {
  return refused_at([&] { make_cluster(kind, 4, parameters); });
}

}  // namespace

TEST_CASE("in every kind each pair of devices, and each device with its host, has a route") {
  for (const TopologyEntry* entry : topology_entries()) {
    for (const std::uint32_t devices : {1U, 2U, 7U, 12U}) {
      CAPTURE(entry->name);
      CAPTURE(devices);
      const Wired kind = wired(entry->name, devices, parameters_of(*entry));
      REQUIRE(kind.devices.size() >= devices);
      std::vector<std::pair<Node, Node>> pairs;
      for (std::uint32_t d = 0; d < devices; ++d) {
        CHECK(kind.router.topology().places[index(kind.devices[d])].name == fmt::format("{}", d));
        pairs.emplace_back(kind.devices[d], kind.host_of[d]);
        pairs.emplace_back(kind.host_of[d], kind.devices[d]);
        for (const Node other : kind.devices) pairs.emplace_back(kind.devices[d], other);
      }
      for (const auto& [from, to] : pairs) {
        const auto route = kind.router.route(from, to);
        REQUIRE(route);
        CHECK(joins_up(kind.router.topology(), *route, from, to));
        CHECK((from == to) == route->empty());
      }
    }
  }
}

TEST_CASE("in every kind each link has a name of its own") {
  for (const TopologyEntry* entry : topology_entries()) {
    CAPTURE(entry->name);
    const Wired kind = wired(entry->name, 12, parameters_of(*entry));
    std::set<std::string> names;
    for (const NetworkLink& link : kind.router.topology().links) names.insert(link.name);
    CHECK(names.size() == kind.router.topology().links.size());
  }
}

TEST_CASE(
    "cube-mesh: each device has six links, two to some neighbours, the others two hops away") {
  const Wired kind = wired(
      "cube-mesh", 8, {{"link_bandwidth_bytes_per_s", 25e9}, {"pcie_bandwidth_bytes_per_s", 1e9}});
  CHECK(between(kind, 0, 1) == "0>1");
  CHECK(slowest(kind, 0, 1) == 25e9);
  CHECK(slowest(kind, 0, 3) == 50e9);
  CHECK(slowest(kind, 0, 4) == 50e9);
  CHECK(slowest(kind, 6, 2) == 25e9);
  CHECK(links_between(kind, 0, 5).size() == 2);
  CHECK(links_between(kind, 7, 0).size() == 2);
  std::map<std::string, double> leaves_to_devices;
  for (const NetworkLink& link : kind.router.topology().links) {
    if (link.bandwidth_bytes_per_s == 1e9) continue;
    leaves_to_devices[link.name.substr(0, link.name.find('>'))] += link.bandwidth_bytes_per_s;
  }
  REQUIRE(leaves_to_devices.size() == 8);
  for (const auto& device : leaves_to_devices) CHECK(device.second == 6 * 25e9);
}

TEST_CASE("cube-mesh: with four links a device has one to each of its neighbours") {
  const Wired kind = wired("cube-mesh", 3, {{"links_per_device", 4}});
  CHECK(kind.devices.size() == 8);
  for (const std::uint32_t neighbour : {1U, 2U, 3U, 4U}) CHECK(slowest(kind, 0, neighbour) == 25e9);
  CHECK(refusal("cube-mesh", {{"links_per_device", 5}}) ==
        "/hardware/topology/links_per_device: 5 is not possible; a cube mesh has 4 or 6");
}

TEST_CASE("cube-mesh and mesh: devices reach other machines over the NIC that some of them share") {
  for (const char* name : {"cube-mesh", "mesh"}) {
    CAPTURE(name);
    Parameters parameters{{"devices_per_nic", 2}, {"nic_bandwidth_bytes_per_s", 12.5e9}};
    if (std::string_view(name) == "mesh") parameters["devices_per_node"] = 8;
    const Wired kind = wired(name, 16, parameters);
    CHECK(between(kind, 3, 8) == "3>nic2 nic2>network network>nic8 nic8>8");
    CHECK(slowest(kind, 3, 8) == 12.5e9);
    CHECK(to_host(kind, 9) == "9>host1");
  }
}

TEST_CASE("mesh: in a machine every device is one link away, and none forwards") {
  const Wired kind = wired(
      "mesh", 8,
      {{"devices_per_node", 4}, {"link_bandwidth_bytes_per_s", 64e9}, {"link_latency_us", 2}});
  CHECK(way(kind, 1, 3) == "1>3: 64 GB/s, 2 us");
  CHECK(between(kind, 1, 4) == "1>nic1 nic1>network network>nic4 nic4>4");
}

TEST_CASE("torus: rings along each dimension, routes as short as the wrapped grid allows") {
  // 4 x 4 x 2: device 27 stands at (3, 2, 1); from 0 that is 1 + 2 + 1 links away.
  const Wired kind = wired("torus", 32, {{"x", 4}, {"y", 4}, {"z", 2}, {"devices_per_host", 8}});
  const std::array<std::uint32_t, 3> lengths{4, 4, 2};
  for (std::uint32_t device = 0; device < 32; ++device) {
    CAPTURE(device);
    std::size_t far = 0;
    std::uint32_t rest = device;
    for (const std::uint32_t length : lengths) {
      const std::uint32_t place = rest % length;
      far += std::min(place, length - place);
      rest /= length;
    }
    CHECK(links_between(kind, 0, device).size() == far);
  }
  CHECK(between(kind, 0, 3) == "0>3");
  CHECK(between(kind, 0, 12) == "0>12");
  CHECK(between(kind, 5, 21) == "5>21");
  CHECK(to_host(kind, 8) == "8>host1");
}

TEST_CASE("torus: one dimension may be left out, and a ring of two is one link each way") {
  const Wired kind = wired("torus", 4, {{"x", 2}, {"y", 2}});
  // Four neighbours on a square: 8 links between devices, 8 to the host.
  CHECK(kind.router.topology().links.size() == 16);
  CHECK(links_between(kind, 0, 3).size() == 2);
}

TEST_CASE("torus: more devices than it has, and more than can be built, are refused") {
  CHECK(refusal("torus", {{"x", 3}, {"y", 1}}) ==
        "/hardware/topology: a torus of 3 x 1 x 1 has 3 devices, but the degrees of /parallel need "
        "4; give larger x, y or z");
  CHECK(refusal("torus", {{"x", 65536}, {"y", 65536}, {"z", 65536}}) ==
        "/hardware/topology: a torus of 65536 x 65536 x 65536 has 281474976710656 devices; at most "
        "1000000 are accepted");
  CHECK(refusal("mesh", {{"devices_per_node", 65536}}) == "accepted");  // as many as are asked for
}

TEST_CASE("nvswitch: up to the switch and down again, each device with links of its own") {
  // 10 GB/s and 2 us a link: two links are 10 GB/s and 4 us.
  const Wired kind = wired("nvswitch", 8,
                           {{"nvlink_bandwidth_bytes_per_s", 10e9},
                            {"nvlink_latency_us", 2},
                            {"pcie_bandwidth_bytes_per_s", 3e9}});
  CHECK(way(kind, 2, 7) == "2>nvswitch0 nvswitch0>7: 10 GB/s, 4 us");
  CHECK(to_host(kind, 5) == "5>host0");
}

TEST_CASE("pcie-tree: within a switch two links, across switches four over the shared uplinks") {
  const Wired kind = wired("pcie-tree", 8,
                           {{"devices_per_switch", 4},
                            {"pcie_bandwidth_bytes_per_s", 30e9},
                            {"pcie_latency_us", 1},
                            {"uplink_bandwidth_bytes_per_s", 20e9},
                            {"uplink_latency_us", 3}});
  // 1 + 1 us, and 1 + 3 + 3 + 1 us.
  CHECK(way(kind, 0, 3) == "0>switch0 switch0>3: 30 GB/s, 2 us");
  CHECK(way(kind, 3, 4) == "3>switch0 switch0>root root>switch1 switch1>4: 20 GB/s, 8 us");
  CHECK(to_host(kind, 6) == "6>switch1 switch1>root root>host0");
}

TEST_CASE("rails: equal numbers meet on their rail, others change it inside the sending machine") {
  const Wired kind = wired("rails", 16,
                           {{"devices_per_node", 8},
                            {"nvlink_bandwidth_bytes_per_s", 400e9},
                            {"nvlink_latency_us", 1},
                            {"pcie_latency_us", 2},
                            {"nic_bandwidth_bytes_per_s", 25e9},
                            {"nic_latency_us", 4}});
  CHECK(between(kind, 1, 6) == "1>nvswitch0 nvswitch0>6");
  CHECK(slowest(kind, 1, 6) == 400e9);
  // 2 + 4 + 4 + 2 us.
  CHECK(way(kind, 3, 11) == "3>nic3 nic3>rail3 rail3>nic11 nic11>11: 25 GB/s, 12 us");
  // 7 sends to number 0 of the next machine: over NVLink to 0, and on over the links of 0, 1 + 1
  // + 12 us.
  CHECK(way(kind, 7, 8) ==
        "7>nvswitch0 nvswitch0>0 0>nic0 nic0>rail0 rail0>nic8 nic8>8: 25 GB/s, 14 us");
  CHECK(between(kind, 8, 7) == "8>nvswitch1 nvswitch1>15 15>nic15 nic15>rail7 rail7>nic7 nic7>7");
  CHECK(to_host(kind, 15) == "15>host1");
}

TEST_CASE("rails: devices that share a NIC share its rail, and reach each other over NVLink") {
  const Wired kind = wired("rails", 8, {{"devices_per_node", 4}, {"devices_per_nic", 2}});
  CHECK(between(kind, 2, 3) == "2>nvswitch0 nvswitch0>3");
  CHECK(between(kind, 3, 2) == "3>nvswitch0 nvswitch0>2");
  CHECK(between(kind, 3, 7) == "3>nic2 nic2>rail1 rail1>nic6 in nic6 in>7");
  CHECK(between(kind, 2, 7) == "2>nic2 nic2>rail1 rail1>nic6 in nic6 in>7");
}

TEST_CASE("leaf-spine: two links in a machine, four under a leaf, six over one of the spines") {
  // 2 machines of 2 devices a leaf: 4 NICs of 50 GB/s against 4 uplinks of 12.5 are 4 : 1.
  const Wired kind = wired("leaf-spine", 8,
                           {{"devices_per_node", 2},
                            {"nodes_per_leaf", 2},
                            {"spines", 4},
                            {"nic_bandwidth_bytes_per_s", 50e9},
                            {"uplink_bandwidth_bytes_per_s", 12.5e9}});
  CHECK(between(kind, 0, 1) == "0>nvswitch0 nvswitch0>1");
  CHECK(between(kind, 1, 2) == "1>nic1 nic1>leaf0 leaf0>nic2 nic2>2");
  CHECK(slowest(kind, 1, 2) == 50e9);
  const std::string over = between(kind, 1, 6);
  CAPTURE(over);
  CHECK(over.starts_with("1>nic1 nic1>leaf0 leaf0>spine"));
  CHECK(over.ends_with(">leaf1 leaf1>nic6 nic6>6"));
  CHECK(std::count(over.begin(), over.end(), '>') == 6);
  CHECK(slowest(kind, 1, 6) == 12.5e9);
}

TEST_CASE("leaf-spine: all pairs together use every spine about equally") {
  // 64 devices, one a machine, 8 a leaf: 8 * 56 * 8 = 3584 ordered pairs across leaves, over 4
  // spines 896 each with a standard deviation of 26.
  const Wired kind = wired("leaf-spine", 64,
                           {{"devices_per_node", 1},
                            {"nodes_per_leaf", 8},
                            {"spines", 4},
                            {"uplink_bandwidth_bytes_per_s", 50e9}});
  std::map<std::string, int> pairs_over;
  for (std::uint32_t from = 0; from < 64; ++from) {
    for (std::uint32_t to = 0; to < 64; ++to) {
      const std::string route = between(kind, from, to);
      const std::size_t spine = route.find(">spine");
      if (spine != std::string::npos) ++pairs_over[route.substr(spine + 1, 6)];
    }
  }
  CHECK(pairs_over.size() == 4);
  for (const auto& named : pairs_over) {
    CAPTURE(named.first);
    CHECK(std::abs(named.second - 896) < 130);
  }
}

TEST_CASE("a last machine need not be full; on rails it is all the same") {
  const Wired leaf_spine = wired("leaf-spine", 5,
                                 {{"devices_per_node", 4},
                                  {"nodes_per_leaf", 1},
                                  {"spines", 1},
                                  {"uplink_bandwidth_bytes_per_s", 50e9}});
  CHECK(leaf_spine.devices.size() == 5);
  CHECK(between(leaf_spine, 4, 1) ==
        "4>nic4 nic4>leaf1 leaf1>spine0 spine0>leaf0 leaf0>nic1 nic1>1");
  // The rail of number 3 is reached from 4 over number 3 of its machine, which is device 7.
  const Wired rails = wired("rails", 5, {{"devices_per_node", 4}});
  CHECK(rails.devices.size() == 8);
  CHECK(between(rails, 4, 3) == "4>nvswitch1 nvswitch1>7 7>nic7 nic7>rail3 rail3>nic3 nic3>3");
}

TEST_CASE("rails of 2,048 machines: the same number of the next machine is four links away") {
  const Wired kind = wired("rails", 16384, {{"devices_per_node", 8}});
  std::size_t links = 0;
  for (std::uint32_t d = 0; d + 8 < 16384; ++d) {
    links += kind.router.route(kind.devices[d], kind.devices[d + 8])->size();
  }
  CHECK(links == 4 * 16376);
}

TEST_CASE("parameters that a kind lacks, needs or cannot have are refused where they stand") {
  CHECK(refusal("nvswitch", {}) == "accepted");
  CHECK(refusal("moebius", {}) ==
        "/hardware/topology/kind: unknown kind \"moebius\"; known: cube-mesh, leaf-spine, mesh, "
        "nvswitch, pcie-tree, rails, torus");
  CHECK(refusal("nvswitch", {{"nic/s", 1}}) ==
        "/hardware/topology/nic~1s: unknown parameter \"nic/s\"; nvswitch takes "
        "nvlink_bandwidth_bytes_per_s, nvlink_latency_us, pcie_bandwidth_bytes_per_s, "
        "pcie_latency_us");
  CHECK(refusal("rails", {}) ==
        "/hardware/topology/devices_per_node: \"devices_per_node\" is missing; rails needs it "
        "(devices per machine, on one NVSwitch)");
  CHECK(refusal("rails", {{"devices_per_node", 1.5}}) ==
        "/hardware/topology/devices_per_node: 1.5 is not a whole number from 1 "
        "to 65536 (devices per machine, on one NVSwitch)");
  CHECK(refusal("nvswitch", {{"nvlink_latency_us", -1}}) ==
        "/hardware/topology/nvlink_latency_us: -1 is not a number from 0 to "
        "1000000000000 (of a device to or from its NVSwitch)");
  CHECK(refusal("nvswitch", {{"nvlink_bandwidth_bytes_per_s", 0}})
            .starts_with("/hardware/topology/nvlink_bandwidth_bytes_per_s: 0 is not "));
}

TEST_CASE("a topology with more links than are accepted is refused") {
  // 16 leaves with a link each way to each of 65,536 spines have 2,097,152.
  CHECK_THROWS_WITH_AS(make_cluster("leaf-spine", 16,
                                    {{"devices_per_node", 1},
                                     {"nodes_per_leaf", 1},
                                     {"spines", 65536},
                                     {"uplink_bandwidth_bytes_per_s", 1e9}}),
                       "more than 1000000 physical links, the largest number supported",
                       InputError);
}

}  // namespace penstock::testing
