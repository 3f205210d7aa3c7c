#include <doctest/doctest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/run/timing/collective_timing.hpp"

// Collectives on the machines of the catalogue: by number of devices, and beside published figures.

namespace penstock::testing {
namespace {

using CountedKind = CollectiveKind;

Machine machine_named(const Catalogue& catalogue, const std::string& name) {
  Machine found = machine_of(catalogue, catalogue.at(name));
  set_topology(found);
  return found;
}

double fastest_us(const Machine& machine, CountedKind kind, double bytes, std::uint64_t devices,
                  std::uint64_t stride = 1) {
  const CollectiveTimings timings =
      time_collective(machine, {kind, bytes, devices, stride, /*flows=*/false});
  return timings.call.reach.begin_us + quickest(timings.call).us(timings.call);
}

/// Bus bandwidth as nccl-tests have it, in GB/s.
double bus_of(const std::string& name, CountedKind kind, double bytes, std::uint64_t devices,
              std::uint64_t stride = 1) {
  const Machine machine = machine_named(read_catalogue(), name);
  CollectiveCall call{kind, bytes, {devices, devices}, {}};
  return bus_bytes(call) / fastest_us(machine, kind, bytes, devices, stride) * 1e-3;
}

/// Numbers of devices and distances between them: in one machine, in several, one in each.
std::vector<std::pair<std::uint64_t, std::uint64_t>> groups_on(const Machine& machine) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> groups;
  const std::uint64_t most = machine.nic ? 2 * machine.devices + 3 : machine.devices;
  for (const std::uint64_t devices :
       {std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{4}, std::uint64_t{5}, std::uint64_t{7},
        std::uint64_t{8}, std::uint64_t{10}, std::uint64_t{12}, std::uint64_t{16}, machine.devices,
        2 * machine.devices, most}) {
    if (devices <= most && devices <= 64) groups.emplace_back(devices, 1);
  }
  for (const std::uint64_t devices : {2U, 3U, 4U}) {
    if (machine.nic) groups.emplace_back(devices, machine.devices);
  }
  return groups;
}

/// Flows that a formula does not foresee are those of trees across machines, which overlap, and of
/// an odd link that no ring takes.
constexpr double least_of_formula = 0.5;
constexpr double most_of_formula = 1.6;

}  // namespace

TEST_CASE("no machine has a cliff between numbers of devices") {
  const Catalogue catalogue = read_catalogue();
  for (const auto& [name, item] : catalogue) {
    if (item.is != "machine") continue;
    const Machine machine = machine_named(catalogue, name);
    const std::uint64_t most = machine.nic ? 1024 : machine.devices;
    for (const CountedKind kind :
         {CountedKind::all_reduce, CountedKind::all_gather, CountedKind::reduce_scatter,
          CountedKind::broadcast, CountedKind::ring_exchange}) {
      for (const double bytes : {1e4, 1e6, 1e9, 16e9}) {
        double before = fastest_us(machine, kind, bytes, 2);
        for (std::uint64_t devices = 4; devices <= most; devices += 2) {
          const double now = fastest_us(machine, kind, bytes, devices);
          CAPTURE(name);
          CAPTURE(penstock::name(kind));
          CAPTURE(bytes);
          CAPTURE(devices);
          CHECK(now <= 4 * before);
          // Two devices with direct links have one of them; a source of four uses three.
          if (kind != CountedKind::broadcast || devices > 4) CHECK(now >= before / 2);
          before = now;
        }
      }
    }
  }
}

TEST_CASE("flows take what formulas say, or are not shown, on every machine") {
  const Catalogue catalogue = read_catalogue();
  for (const auto& [name, item] : catalogue) {
    if (item.is != "machine") continue;
    const Machine machine = machine_named(catalogue, name);
    if (!machine.topology) continue;
    std::size_t shown = 0;
    for (const auto& [devices, stride] : groups_on(machine)) {
      for (const CountedKind kind :
           {CountedKind::all_reduce, CountedKind::all_gather, CountedKind::reduce_scatter,
            CountedKind::all_to_all, CountedKind::broadcast, CountedKind::ring_exchange}) {
        CAPTURE(name);
        CAPTURE(penstock::name(kind));
        CAPTURE(devices);
        CAPTURE(stride);
        // So many bytes that latencies, of which formulas have the mean, do not count.
        for (const AlgorithmTiming& one :
             time_collective(machine, {kind, 64e9, devices, stride}).algorithms) {
          CAPTURE(one.algorithm->name);
          CHECK(one.formula_us > 0);
          if (!one.flows_us) continue;
          ++shown;
          CHECK(*one.flows_us > least_of_formula * one.formula_us);
          CHECK(*one.flows_us < most_of_formula * one.formula_us);
        }
      }
    }
    CHECK(shown > 0);
  }
}

TEST_CASE("an all-to-all grows by no more than what leaves machines") {
  // Half of it leaves two machines, over NICs that are slower than what is inside.
  const Catalogue catalogue = read_catalogue();
  for (const char* name : {"dgx-a100", "dgx-h100", "dgx-b200", "gb200-nvl72"}) {
    const Machine machine = machine_named(catalogue, name);
    const double ratio = speed_inside(machine)->bandwidth_bytes_per_s /
                         speed_outside(machine)->bandwidth_bytes_per_s;
    double before = fastest_us(machine, CountedKind::all_to_all, 1e9, 2);
    for (std::uint64_t devices = 4; devices <= 1024; devices += 2) {
      const double now = fastest_us(machine, CountedKind::all_to_all, 1e9, devices);
      CAPTURE(name);
      CAPTURE(devices);
      CHECK(now <= std::max(2.0, ratio) * before);
      CHECK(now >= before / 2);
      before = now;
    }
  }
}

TEST_CASE("collectives come near to what was published of them") {
  const auto near = [](double share) { return doctest::Approx(1).epsilon(share); };
  const auto reduce = CountedKind::all_reduce;
  // github.com/NVIDIA/nccl-tests issues 212, 272, 290, 347: 8 H100 and H200.
  CHECK(bus_of("dgx-h100", reduce, 8.59e9, 8) / 479.5 == near(0.03));
  CHECK(bus_of("dgx-h200", reduce, 4.29e9, 8) / 475 == near(0.03));
  CHECK(bus_of("dgx-h100", CountedKind::all_gather, 8e9, 8) / 370 == near(0.03));
  // github.com/NVIDIA/nccl issues 1048 and 1807: 8 A100 and 8 B200.
  CHECK(bus_of("dgx-a100", reduce, 4.29e9, 8) / 232.5 == near(0.03));
  CHECK(bus_of("dgx-b200", reduce, 8e9, 8) / 830 == near(0.03));
  // github.com/coreweave/nccl-tests pull request 43: 72 GB200, us.
  const Machine rack = machine_named(read_catalogue(), "gb200-nvl72");
  const std::array<std::array<double, 2>, 5> table{{{536870912, 1806.7},
                                                    {1073741824, 3108.8},
                                                    {2147483648, 5589.1},
                                                    {4294967296, 10094},
                                                    {8589934592, 20299}}};
  for (const auto& [bytes, us] : table) {
    CAPTURE(bytes);
    CHECK(fastest_us(rack, reduce, bytes, 72) / us == near(0.12));
  }
  // Four nodes of 8 H100: 331 and 323.5 GB/s (Voltage Park). 248 nodes of 8 H200: about 350
  // (nccl-tests issue 283).
  CHECK(bus_of("dgx-h100", reduce, 8.59e9, 32) / 331 == near(0.1));
  CHECK(bus_of("dgx-h100", CountedKind::all_gather, 8.59e9, 32) / 323.5 == near(0.1));
  CHECK(bus_of("dgx-h200", reduce, 8.59e9, 1984) / 350 == near(0.1));
  // 16 nodes of 8 H100, nccl issue 1469: 62 us for little, 150 GB/s for 67 MB.
  const Machine node = machine_named(read_catalogue(), "dgx-h100");
  CHECK(fastest_us(node, reduce, 8, 128) / 62 == near(0.35));
  CHECK(bus_of("dgx-h100", reduce, 67108864, 128) / 150 == near(0.25));
}

TEST_CASE("two nodes with a GPU and a NIC each come near to what was published") {
  // github.com/NVIDIA/nccl-tests issue 232, us in place or out of it.
  const Machine node = machine_named(read_catalogue(), "dgx-h100");
  const std::array<std::array<double, 2>, 5> table{
      {{2097152, 93.35}, {4194304, 153.3}, {8388608, 227.8}, {16777216, 419.9}, {33554432, 808.2}}};
  for (const auto& [bytes, us] : table) {
    CAPTURE(bytes);
    CHECK(fastest_us(node, CountedKind::all_reduce, bytes, 2, 8) / us ==
          doctest::Approx(1).epsilon(0.22));
  }
}

}  // namespace penstock::testing
