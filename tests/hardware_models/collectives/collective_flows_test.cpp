#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "hardware_models/collectives/registry.hpp"
#include "hardware_models/collectives/rounds/rounds.hpp"
#include "hardware_models/topologies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

// What formulas say of collectives, held against the flows of their rounds on the event engine.

namespace penstock::testing {
namespace {

using Kind = CollectiveKind;

/// A group whose members are devices of a topology.
struct Placed {
  Placed(std::string_view kind, std::uint32_t devices,
         const std::map<std::string, double>& parameters)
      : Placed(make_cluster(kind, devices, parameters), devices) {}

  /// How long a collective takes as flows.
  double us(std::string_view algorithm, const CollectiveCall& call) const {
    const CollectiveEntry* entry = find_named(collective_entries(), algorithm);
    REQUIRE(entry != nullptr);
    return flows_us(entry->rounds(call), router, members);
  }

  std::vector<Node> members;
  Router router;

 private:
  Placed(Cluster cluster, std::uint32_t devices)
      : members(cluster.devices.begin(), cluster.devices.begin() + devices),
        router(std::move(cluster.topology)) {}
};

double formula_us(std::string_view algorithm, const CollectiveCall& call) {
  return find_named(collective_entries(), algorithm)->us(call);
}

/// Holds all algorithms, or all but one, against their flows. There are so many bytes that rounds
/// take milliseconds: the clock rounds each to picoseconds.
void check_equal(const Placed& group, const Members& members, const Reach& reach,
                 std::string_view without = "") {
  for (const CollectiveEntry* entry : collective_entries()) {
    if (entry->name == without || entry->rounds == nullptr) continue;
    for (const ServedKind& served : entry->kinds) {
      const bool chunked = served.kind == Kind::broadcast;
      if (chunked && members.machines() > 1 && members.per_machine > 1) continue;
      const CollectiveCall call{served.kind, 840e9, members, reach};
      if (!applies(*entry, call)) continue;
      CAPTURE(entry->name);
      CAPTURE(name(served.kind));
      CAPTURE(members.count);
      CHECK(group.us(entry->name, call) == doctest::Approx(entry->us(call)).epsilon(1e-9));
    }
  }
}

}  // namespace

TEST_CASE("at an NVSwitch flows take what the formulas say, for all algorithms and kinds") {
  // Two links of 100 GB/s and 1.5 us: 100 GB/s and 3 us.
  const Speed link{100e9, 3};
  for (const std::uint32_t n : {2U, 3U, 4U, 5U, 7U, 8U, 12U}) {
    const Placed group("nvswitch", n,
                       {{"nvlink_bandwidth_bytes_per_s", 100e9}, {"nvlink_latency_us", 1.5}});
    check_equal(group, {n, n}, {link, link});
  }
}

TEST_CASE("on rails flows take what the formulas say, also where traffic changes the rail") {
  // Inside machines of four 100 GB/s, outside 25 GB/s. What changes the rail also passes two
  // NVLinks. Rings leave and reach machines on one rail each.
  const Placed group("rails", 12,
                     {{"devices_per_node", 4},
                      {"nvlink_bandwidth_bytes_per_s", 100e9},
                      {"nic_bandwidth_bytes_per_s", 25e9}});
  check_equal(group, {12, 4}, {{100e9, 0}, {25e9, 0}}, "tree");
}

TEST_CASE("on a rail, one member in each machine, trees agree as well") {
  for (const std::uint32_t n : {2U, 5U, 8U}) {
    const Placed group("rails", n,
                       {{"devices_per_node", 1},
                        {"pcie_latency_us", 1},
                        {"nic_bandwidth_bytes_per_s", 25e9},
                        {"nic_latency_us", 4}});
    check_equal(group, {n, 1}, {{}, {25e9, 10}});
  }
}

TEST_CASE("on rails a tree across machines takes no longer than its formula says") {
  const Placed group("rails", 16,
                     {{"devices_per_node", 4},
                      {"nvlink_bandwidth_bytes_per_s", 100e9},
                      {"nic_bandwidth_bytes_per_s", 25e9}});
  const CollectiveCall call{Kind::all_reduce, 840e6, {16, 4}, {{100e9, 0}, {25e9, 0}}};
  const double flows = group.us("tree", call);
  CHECK(flows <= formula_us("tree", call) * (1 + 1e-9));
  CHECK(flows > 0.5 * formula_us("tree", call));
}

TEST_CASE("under PCIe switches an all-to-all shares uplinks, of which formulas know nothing") {
  // Two switches of four devices, all links 10 GB/s: a share of 1 MB takes 100 us. From round 1 to
  // 7 there are 1, 2, 3, 4, 3, 2, 1 shares that leave each switch at once: 16 times 100 us.
  const Placed group("pcie-tree", 8,
                     {{"devices_per_switch", 4},
                      {"pcie_bandwidth_bytes_per_s", 10e9},
                      {"uplink_bandwidth_bytes_per_s", 10e9}});
  const Speed link{10e9, 0};
  const CollectiveCall exchange{Kind::all_to_all, 8e6, {8, 8}, {link, link}};
  CHECK(formula_us("pairwise", exchange) == doctest::Approx(7 * 100));
  CHECK(group.us("pairwise", exchange) == doctest::Approx(16 * 100).epsilon(1e-9));
  // A ring leaves each switch once, and shares nothing.
  const CollectiveCall reduce{Kind::all_reduce, 8e6, {8, 8}, {link, link}};
  CHECK(group.us("ring", reduce) == doctest::Approx(formula_us("ring", reduce)).epsilon(1e-9));
}

TEST_CASE("under oversubscribed leaves a ring takes longer, the more often it changes the leaf") {
  // Two leaves of two machines with one device each; NICs 20 GB/s, one uplink of 10. A share of 2
  // MB takes 100 us over a NIC. In order the ring leaves each leaf once: 200 us a round.
  Placed group("leaf-spine", 4,
               {{"devices_per_node", 1},
                {"nodes_per_leaf", 2},
                {"spines", 1},
                {"nic_bandwidth_bytes_per_s", 20e9},
                {"uplink_bandwidth_bytes_per_s", 10e9}});
  const CollectiveCall call{Kind::all_reduce, 8e6, {4, 1}, {{}, {20e9, 0}}};
  CHECK(formula_us("ring", call) == doctest::Approx(6 * 100));
  CHECK(group.us("ring", call) == doctest::Approx(6 * 200).epsilon(1e-9));
  // With every second member at the other leaf two shares leave it at once: 400 us.
  std::swap(group.members[1], group.members[2]);
  CHECK(group.us("ring", call) == doctest::Approx(6 * 400).epsilon(1e-9));
}

TEST_CASE("members that no way joins are refused") {
  Topology topology;
  const Node one = topology.add_end("one"), other = topology.add_end("other");
  topology.connect(one, other, {1e9, 0});
  const Router router(std::move(topology));
  CHECK(flows_us({{{{0, 1, 1e6}}, 3}}, router, {one, other}) == doctest::Approx(3000));
  CHECK_THROWS_WITH_AS(flows_us({{{{1, 0, 1e6}}, 1}}, router, {one, other}),
                       "no route from member 1 of a group to member 0; connect them", InputError);
}

}  // namespace penstock::testing
