#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "hardware_models/links/groups.hpp"
#include "hardware_models/links/link_costs.hpp"
#include "hardware_models/registry.hpp"
#include "sim/base/named.hpp"

namespace penstock::testing {
namespace {

using Kind = CollectiveKind;

/// Machines of eight: 300 GB/s and 1 us between their devices, 25 GB/s and 2 us out of each.
Machine eight() {
  return {.name = "eight",
          .devices = 8,
          .link = Speed{300e9, 1},
          .nic = Speed{25e9, 2},
          .topology = TopologySpec{"rails", {}}};
}

/// Ranks on such machines.
HardwareSpec ranks_of(std::uint64_t tensor, std::uint64_t context, std::uint64_t data) {
  HardwareSpec spec{.machine = eight()};
  set_topology(*spec.machine);
  spec.topology = spec.machine->topology;
  spec.tensor = tensor;
  spec.context = context;
  spec.ranks = 4;
  spec.devices_per_replica = tensor * context;
  spec.devices_per_rank = spec.devices_per_replica * data;
  return spec;
}

const std::vector<Rank> rank_0{Rank{0}};

/// Members, and how many of them share a machine, as "16/2"; where that differs, "12/8-4".
std::string members_text(const HardwareSpec& spec, double copies, double data,
                         const std::vector<Rank>& ranks) {
  const Holders holders{copies, data, ranks};
  const Members members = members_of(*spec.machine, HolderPlaces(spec, holders));
  const std::string text =
      std::to_string(members.count) + "/" + std::to_string(members.per_machine);
  return members.even() ? text : text + "-" + std::to_string(members.fewest());
}

double us(const HardwareSpec& spec, Kind kind, double bytes, double data) {
  const auto time = WeightCollectives(spec).time(kind, bytes, {1, data, rank_0});
  REQUIRE(time);
  return time->occupies_us + time->latency_us;
}

}  // namespace

TEST_CASE("data replicas lie in machines as their groups leave room for") {
  const std::vector<Rank> one{Rank{1}};
  CHECK(members_text(ranks_of(8, 1, 4), 1, 4, one) == "4/1");
  CHECK(members_text(ranks_of(4, 1, 4), 1, 4, one) == "4/2");  // devices 16, 20 | 24, 28
  CHECK(members_text(ranks_of(1, 1, 8), 1, 8, one) == "8/8");
  CHECK(members_text(ranks_of(1, 1, 16), 1, 16, one) == "16/8");
  CHECK(members_text(ranks_of(16, 1, 2), 1, 2, one) == "2/1");
}

TEST_CASE("dense weights are a tensor group apart, experts as far as their shares reach") {
  // Tensor 2, context 2, data 4: a rank is two machines. Dense weights lie on every second device.
  const HardwareSpec spec = ranks_of(2, 2, 4);
  CHECK(members_text(spec, 2, 4, rank_0) == "8/4");
  // Four experts, each split over a tensor group: on 0 and 8.
  CHECK(members_text(spec, 1, 2, rank_0) == "2/1");
  // Two of them: on 0, 4 | 8, 12.
  CHECK(members_text(spec, 1, 4, rank_0) == "4/2");
  // Two whole experts of a tensor group: on 0, 2, 4, 6 | 8 ..., where dense weights are.
  CHECK(members_text(spec, 2, 4, rank_0) == "8/4");
  // One whole expert: on all.
  CHECK(members_text(spec, 4, 4, rank_0) == "16/8");
}

TEST_CASE("replicas that shard together lie behind each other, those of one share take turns") {
  const auto text = [&](const HardwareSpec& spec, double copies, std::uint32_t data,
                        bool across_groups) {
    const SharedParameters parameters{.bytes = 1, .copies = copies};
    const Holders holders = holders_of(parameters, {data, 2}, rank_0, across_groups);
    const DeviceRow row = HolderPlaces(spec, holders).rows(100).front();
    const Members members = members_of(*spec.machine, HolderPlaces(spec, holders));
    return fmt::format("{}/{} every {}", members.count, members.per_machine, row.stride);
  };
  const HardwareSpec small = ranks_of(1, 1, 16);
  CHECK(text(small, 1, 16, false) == "8/8 every 1");
  CHECK(text(small, 1, 16, true) == "2/1 every 8");
  // Tensor 2, context 2, data 4: dense weights on every second device of two machines.
  const HardwareSpec spec = ranks_of(2, 2, 4);
  CHECK(text(spec, 2, 4, false) == "4/4 every 2");
  CHECK(text(spec, 2, 4, true) == "2/1 every 8");
}

TEST_CASE("replicas of experts begin at a rank and lie evenly in it") {
  const HardwareSpec spec = ranks_of(2, 2, 4);
  const std::vector<Rank> ranks{Rank{1}, Rank{2}};
  const Holders experts{1, 2, ranks};
  const std::vector<DeviceRow> rows = HolderPlaces(spec, experts).rows(100);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].first == 16);
  CHECK(rows[1].first == 32);
  CHECK(rows[1].stride == 8);
  CHECK(rows[1].count == 2);
  CHECK(HolderPlaces(spec, experts).rows(3).back().count == 1);
}

TEST_CASE("several ranks that hold a stage are one group") {
  // Ranks of half a machine, 0 and 1 in one, 3 in the next.
  const HardwareSpec spec = ranks_of(4, 1, 1);
  const std::vector<Rank> together{Rank{0}, Rank{1}}, apart{Rank{0}, Rank{3}};
  const std::vector<Rank> uneven{Rank{0}, Rank{1}, Rank{2}};
  CHECK(members_text(spec, 1, 1, together) == "2/2");
  CHECK(members_text(spec, 1, 1, apart) == "2/1");
  CHECK(members_text(spec, 1, 1, uneven) == "3/2-1");
}

TEST_CASE("one machine may have more holders than another") {
  // Twelve replicas of a device each: eight in one machine, four in the next.
  CHECK(members_text(ranks_of(1, 1, 12), 1, 12, rank_0) == "12/8-4");
  // Three devices a replica: 0, 3, 6 | 9, 12, 15.
  CHECK(members_text(ranks_of(3, 1, 6), 1, 6, rank_0) == "6/3");
  CHECK(members_text(ranks_of(3, 1, 4), 1, 4, rank_0) == "4/3-1");
}

TEST_CASE(
    "a group on all devices fills each machine but perhaps the last, or lies evenly in them") {
  for (const std::uint64_t size : {2U, 4U, 8U, 16U, 32U, 72U}) {
    for (const std::uint64_t devices :
         {72U, 4096U, 16383U, 16384U, 16385U, 16400U, 32753U, 32760U, 65535U, 65536U, 1000000U}) {
      CAPTURE(size);
      CAPTURE(devices);
      Machine machine = eight();
      machine.devices = size;
      const std::uint64_t machines = (devices + size - 1) / size;
      const Members filled = members_of(machine, {devices, 1, devices});
      CHECK(filled.machines() == machines);
      CHECK(filled.per_machine == size);
      if (devices < 262'144) CHECK(filled.fewest() == devices - (machines - 1) * size);
      seat_evenly(machine, devices, 1);
      const Members even = members_of(machine, {devices, 1, devices});
      CHECK(even.machines() == machines);
      CHECK(even.per_machine == (devices + machines - 1) / machines);
      CHECK(even.fewest() == devices / machines);
    }
  }
}

TEST_CASE("every third or twelfth device lies in as many machines as are passed") {
  for (const std::uint64_t stride : {3U, 5U, 12U}) {
    for (const std::uint64_t devices : {16384U, 20000U, 100000U}) {
      CAPTURE(stride);
      CAPTURE(devices);
      Machine machine = eight();
      machine.devices = 16;
      const Members members = members_of(machine, {devices, stride, devices * stride});
      CHECK(members.machines() == ((devices - 1) * stride) / 16 + 1);
    }
  }
}

TEST_CASE("many holders lie in machines as few do") {
  for (const std::uint64_t data : {64U, 16384U, 32760U, 65536U}) {
    CAPTURE(data);
    const HardwareSpec spec = ranks_of(1, 1, data);
    const Holders holders{1, static_cast<double>(data), rank_0};
    const Members members = members_of(*spec.machine, HolderPlaces(spec, holders));
    CHECK(members.machines() == data / 8);
    CHECK(members.per_machine == 8);
    CHECK(members.even());
  }
}

TEST_CASE("a million holders are as soon placed as a few") {
  CHECK(members_text(ranks_of(1, 1, 1'000'000'000), 1, 1e9, rank_0) == "1000000000/8");
  CHECK(members_text(ranks_of(4, 1, 1'000'000'001), 1, 1'000'000'001, rank_0) == "1000000001/2-1");
}

TEST_CASE("a sum over four replicas, two a machine, takes what its algorithm says") {
  // 1 GB. Two rings, one a NIC: 2 * 3 steps with an eighth each at 25 GB/s, 5,000 us, and 2 or 1
  // us.
  HardwareSpec spec = ranks_of(4, 1, 4);
  spec.collectives = {{Kind::all_reduce, find_named(collective_entries(), "ring")}};
  CHECK(us(spec, Kind::all_reduce, 1e9, 4) == doctest::Approx(30'009));
  // Hierarchical: half of it inside, at 300 GB/s there and back, a quarter across, there and back.
  const double half = 0.5e9 / 300e9 * 1e6, quarter = 10'000;
  const double inside = 2 * (half + 1), across = 2 * (quarter + 2);
  spec.collectives = {{Kind::all_reduce, find_named(collective_entries(), "hierarchical")}};
  CHECK(us(spec, Kind::all_reduce, 1e9, 4) == doctest::Approx(inside + across));
  // Left open it is the quickest. A half of it for gradients and a half for weights, with ZeRO-1.
  spec.collectives = {};
  CHECK(us(spec, Kind::all_reduce, 1e9, 4) == doctest::Approx(inside + across));
  CHECK(us(spec, Kind::reduce_scatter, 1e9, 4) == doctest::Approx((inside + across) / 2));
  CHECK(us(spec, Kind::all_gather, 1e9, 4) == doctest::Approx((inside + across) / 2));
  // In one machine there is no way out: 2 * 3 steps of 250 MB at 300 GB/s and 1 us.
  CHECK(us(ranks_of(2, 1, 4), Kind::all_reduce, 1e9, 4) ==
        doctest::Approx(6 * (0.25e9 / 300e9 * 1e6 + 1)));
}

TEST_CASE("the latencies of a collective occupy nothing") {
  const HardwareSpec spec = ranks_of(8, 1, 4);
  const auto time = WeightCollectives(spec).time(Kind::all_gather, 1e9, {1, 4, rank_0}).value();
  CHECK(time.latency_us == doctest::Approx(3 * 2));
  CHECK(time.occupies_us == doctest::Approx(3 * 0.25e9 / 25e9 * 1e6));
}

TEST_CASE("one holder has nothing to do, and hardware without ways of its own says nothing") {
  const Holders alone{1, 1, rank_0}, two{1, 2, rank_0};
  const auto kind = Kind::all_reduce;
  HardwareSpec spec = ranks_of(4, 1, 2);
  CHECK(WeightCollectives(spec).time(kind, 1e9, alone)->occupies_us == 0);
  CHECK_FALSE(WeightCollectives().time(kind, 1e9, two));
  CHECK_FALSE(WeightCollectives(HardwareSpec{}).time(kind, 1e9, two));
  // A device alone with links that the scenario draws: a ring over these.
  spec.machine->topology.reset();
  CHECK_FALSE(WeightCollectives(spec).time(kind, 1e9, two));
  // Its private links are what it has.
  spec.topology.reset();
  CHECK(WeightCollectives(spec).time(kind, 1e9, two));
  spec.machine->link.reset();
  spec.machine->nic.reset();
  CHECK_FALSE(WeightCollectives(spec).time(kind, 1e9, two));
}

TEST_CASE("on machines sums leave by the NIC to the same place of another machine") {
  // Tensor 4, data 4: copies of device 0 on 4, 8 and 12. It shares its machine with the next one;
  // the way goes on to 8, over its own rail. Rank 1 begins at 16.
  const auto hardware = [](const HardwareSpec& spec) {
    HardwareSpec with_device = spec;
    with_device.machine->device.peak_flops = {{"bf16", 1e12}};
    with_device.machine->device.memory_bandwidth_bytes_per_s = 1e12;
    return find_named(cost_model_entries(), "roofline")->make(with_device);
  };
  const auto names = [](const HardwareModel& model, Rank rank) {
    std::string text;
    const Network network = model.network();
    for (const std::uint32_t link : model.route({rank, data_replicas})) {
      text += network.links[link].name + " ";
    }
    return text;
  };
  const auto across = hardware(ranks_of(4, 1, 4));
  CHECK(names(*across, Rank{0}) == "0>nic0 nic0>rail0 rail0>nic8 nic8>8 ");
  CHECK(names(*across, Rank{1}) == "16>nic16 nic16>rail0 rail0>nic24 nic24>24 ");
  // Where all copies are in one machine it goes to the next one inside.
  const auto inside = hardware(ranks_of(2, 1, 4));
  CHECK(names(*inside, Rank{1}) == "8>nvswitch1 nvswitch1>10 ");
  // Three devices a replica: 0, 3, 6, 9. The only one outside has another place.
  const auto odd = hardware(ranks_of(3, 1, 4));
  CHECK(names(*odd, Rank{0}).ends_with("nic9>9 "));
}

}  // namespace penstock::testing
