#include "hardware_models/spec/machine.hpp"

#include <doctest/doctest.h>

#include <set>

#include "hardware_models/topologies/registry.hpp"

namespace penstock::testing {
namespace {

/// Eight devices with six links of 25 GB/s, PCIe of 16 and a NIC of 12.5 for every two.
Machine eight() {
  return {.devices = 8,
          .link = Speed{25e9, 0.5},
          .links = 6,
          .host = Speed{16e9, 0.25},
          .nic = Speed{12.5e9, 1},
          .devices_per_nic = 2};
}

double parameter(const Machine& machine, const char* name) {
  return machine.topology->parameters.at(name);
}

Machine machine_of_size(std::uint64_t devices, const char* topology = "rails") {
  return {.devices = devices, .nic = Speed{10e9, 1}, .topology = TopologySpec{topology, {}}};
}

std::string seated_text(std::uint64_t size, std::uint64_t devices, std::uint64_t unit) {
  Machine machine = machine_of_size(size);
  seat_evenly(machine, devices, unit);
  return machine.seating ? seating_text(*machine.seating) : "full";
}

}  // namespace

TEST_CASE("a topology takes its parameters from the links of its machine") {
  Machine machine = eight();
  set_topology(machine, {"cube-mesh", {}});
  CHECK(machine.topology->kind == "cube-mesh");
  CHECK(machine.topology->parameters ==
        std::map<std::string, double>{{"links_per_device", 6},
                                      {"link_bandwidth_bytes_per_s", 25e9},
                                      {"link_latency_us", 0.5},
                                      {"devices_per_nic", 2},
                                      {"pcie_bandwidth_bytes_per_s", 16e9},
                                      {"pcie_latency_us", 0.25},
                                      {"nic_bandwidth_bytes_per_s", 12.5e9},
                                      {"nic_latency_us", 1}});
  CHECK_NOTHROW(check_topology(machine.topology->kind, machine.topology->parameters));
}

TEST_CASE("a switch sees all links of a device as one") {
  Machine machine = eight();
  set_topology(machine, {"rails", {}});
  CHECK(parameter(machine, "nvlink_bandwidth_bytes_per_s") == 150e9);
  CHECK(parameter(machine, "devices_per_node") == 8);
  CHECK_FALSE(machine.topology->parameters.contains("link_bandwidth_bytes_per_s"));
}

TEST_CASE("what is given replaces what the machine says, and another kind its own one") {
  Machine machine = eight();
  set_topology(machine, {"rails", {{"nic_latency_us", 3}}});
  set_topology(machine, {"", {{"nic_bandwidth_bytes_per_s", 1e9}}});
  CHECK(machine.topology->kind == "rails");
  CHECK(parameter(machine, "nic_bandwidth_bytes_per_s") == 1e9);
  CHECK(parameter(machine, "nic_latency_us") == 3);
  set_topology(machine, {"leaf-spine", {{"spines", 2}}});
  CHECK(parameter(machine, "nic_latency_us") == 3);  // of the machine itself by now
  CHECK(parameter(machine, "spines") == 2);
}

TEST_CASE("groups inside a machine talk over the links that its topology is given") {
  Machine machine = eight();
  set_topology(machine, {"rails",
                         {{"nvlink_bandwidth_bytes_per_s", 60e9},
                          {"nvlink_latency_us", 7},
                          {"nic_bandwidth_bytes_per_s", 2e9}}});
  CHECK(speed_inside(machine)->bandwidth_bytes_per_s == doctest::Approx(60e9));
  CHECK(speed_inside(machine)->latency_us == 7);
  CHECK(machine.nic->bandwidth_bytes_per_s == 2e9);
}

TEST_CASE("a machine is as large as its topology") {
  Machine machine = eight();
  set_topology(machine, {"rails", {{"devices_per_node", 4}}});
  CHECK(machine.devices == 4);
  set_topology(machine, {"torus", {{"x", 4}, {"y", 4}, {"z", 2}}});
  CHECK(machine.devices == 32);
  set_topology(machine, {"torus", {{"x", 1e300}, {"y", 1e300}}});  // refused when it is built
  CHECK(machine.devices == 1000000000000000);
}

TEST_CASE("inside a device has all its links, outside its share of a NIC") {
  CHECK(speed_inside(eight())->bandwidth_bytes_per_s == 150e9);
  CHECK(speed_inside(eight())->latency_us == 0.5);
  CHECK(speed_outside(eight())->bandwidth_bytes_per_s == 6.25e9);
  CHECK_FALSE(speed_inside(Machine{}));
  CHECK_FALSE(speed_outside(Machine{}));
}

TEST_CASE("an efficiency is level beyond its table, and whole without one") {
  const Efficiency table{{{1, 0.2}, {10, 0.4}, {1000, 0.8}}};
  CHECK(efficiency_at(table, 0) == 0.2);
  CHECK(efficiency_at(table, 1) == 0.2);
  CHECK(efficiency_at(table, 10) == doctest::Approx(0.4));
  CHECK(efficiency_at(table, 100) == doctest::Approx(0.6));
  CHECK(efficiency_at(table, 1e9) == 0.8);
  CHECK(efficiency_at({}, 7) == 1);
}

TEST_CASE("an efficiency with a half size: that size reaches half, nine times of it nine tenths") {
  const Efficiency efficiency{{{1, 0.8}}, 2};
  CHECK(efficiency_at(efficiency, 2) == doctest::Approx(0.4));
  CHECK(efficiency_at(efficiency, 18) == doctest::Approx(0.72));
  CHECK(efficiency_at(efficiency, 1e15) == doctest::Approx(0.8));
  CHECK(efficiency_at(efficiency, 0) == 0.8);  // and not 0 / 0
  CHECK(efficiency_at({{}, 1}, 1) == 0.5);
}

TEST_CASE("links reach a share of the speed that the topology states for its wires") {
  Machine machine = eight();
  set_topology(machine, {"rails", {}});
  machine.link_efficiency = 0.5;
  machine.nic_efficiency = 0.8;
  CHECK(speed_inside(machine)->bandwidth_bytes_per_s == 75e9);
  CHECK(speed_outside(machine)->bandwidth_bytes_per_s == 5e9);  // two devices share 12.5 GB/s
  const TopologySpec in_use = topology_in_use(machine).value();
  CHECK(in_use.parameters.at("nvlink_bandwidth_bytes_per_s") == 75e9);
  CHECK(in_use.parameters.at("nic_bandwidth_bytes_per_s") == 10e9);
  CHECK(in_use.parameters.at("pcie_bandwidth_bytes_per_s") == 16e9);
  CHECK(parameter(machine, "nvlink_bandwidth_bytes_per_s") == 150e9);
  CHECK_FALSE(topology_in_use(Machine{}).has_value());
}

TEST_CASE("devices that do not fill machines lie in them evenly") {
  CHECK(seated_text(72, 128, 1) == "64 + 64");
  CHECK(seated_text(8, 10, 1) == "5 + 5");
  CHECK(seated_text(8, 20, 1) == "7 + 7 + 6");
  CHECK(seated_text(8, 22, 1) == "8 + 7 + 7");
  CHECK(seated_text(8, 90, 1) == "6 × 8 + 6 × 7");
  CHECK(seated_text(8, 8, 1) == "full");
  CHECK(seated_text(8, 6, 1) == "full");
  CHECK(seated_text(8, 24, 1) == "full");
}

TEST_CASE("groups stay together where a machine holds them") {
  CHECK(seated_text(8, 12, 4) == "8 + 4");
  CHECK(seated_text(8, 12, 2) == "6 + 6");
  CHECK(seated_text(72, 80, 8) == "40 + 40");
  CHECK(seated_text(8, 9, 3) == "6 + 3");
  CHECK(seated_text(8, 32, 16) == "full");
}

TEST_CASE("each device has a seat of its own in a machine with room for it") {
  for (std::uint64_t devices = 2; devices <= 100; ++devices) {
    for (const std::uint64_t unit : {1U, 2U, 3U, 5U}) {
      Machine machine = machine_of_size(8);
      seat_evenly(machine, devices, unit);
      std::set<std::uint64_t> seats;
      for (std::uint64_t device = 0; device < devices; ++device) {
        seats.insert(seat_of(machine, device));
        const SeatedDevices together = seated_with(machine, device);
        REQUIRE(together.first <= device);
        REQUIRE(device < together.end);
        // The same machine as the first device there, and another one than the device before that.
        const auto machine_of = [&](std::uint64_t one) { return seat_of(machine, one) / 8; };
        CHECK(machine_of(together.first) == machine_of(device));
        CHECK((together.first == 0 || machine_of(together.first - 1) != machine_of(device)));
        CHECK(machine_of(together.end) != machine_of(device));
        if (devices % unit == 0 && device % unit != 0) CHECK(together.first < device);
      }
      CHECK(seats.size() == devices);
    }
  }
}

TEST_CASE("machines without NICs are not joined, and fewer devices share a NIC") {
  Machine slice = machine_of_size(64, "torus");
  slice.nic.reset();
  seat_evenly(slice, 100, 1);
  CHECK_FALSE(slice.seating);
  // Eight devices on four NICs have half of one each; five on three of these have three fifths.
  Machine pairs = machine_of_size(8);
  pairs.devices_per_nic = 2;
  CHECK(speed_outside(pairs)->bandwidth_bytes_per_s == doctest::Approx(5e9));
  seat_evenly(pairs, 10, 1);
  CHECK(speed_outside(pairs)->bandwidth_bytes_per_s == doctest::Approx(6e9));
}

}  // namespace penstock::testing
