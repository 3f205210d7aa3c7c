#include <doctest/doctest.h>

#include <set>

#include "hardware_models/spec/machine.hpp"

namespace penstock::testing {
namespace {

Machine machine_of_size(std::uint64_t devices, const char* topology = "rails") {
  Machine machine;
  machine.devices = devices;
  machine.nic = Speed{10e9, 1};
  machine.topology = TopologySpec{topology, {}};
  return machine;
}

std::string seated_text(std::uint64_t size, std::uint64_t devices, std::uint64_t unit) {
  Machine machine = machine_of_size(size);
  seat_evenly(machine, devices, unit);
  return machine.seating ? seating_text(*machine.seating) : "full";
}

}  // namespace

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
