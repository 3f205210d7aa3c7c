#include "hardware_models/spec/machine.hpp"

#include <doctest/doctest.h>

#include "hardware_models/topologies/registry.hpp"

namespace penstock::testing {
namespace {

/// Eight devices with six links of 25 GB/s, PCIe of 16 and a NIC of 12.5 for every two.
Machine eight() {
  Machine machine;
  machine.devices = 8;
  machine.link = Speed{25e9, 0.5};
  machine.links = 6;
  machine.host = Speed{16e9, 0.25};
  machine.nic = Speed{12.5e9, 1};
  machine.devices_per_nic = 2;
  return machine;
}

double parameter(const Machine& machine, const char* name) {
  return machine.topology->parameters.at(name);
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

}  // namespace penstock::testing
