#pragma once

#include <cstdint>
#include <string>

namespace penstock {

struct Machine;

/// Devices in machines that they do not fill: as many in each machine as in another, up to one
/// unit of devices that stay together.
struct Seating {
  std::uint64_t most = 1;      // devices in each of the first machines
  std::uint64_t larger = 1;    // number of these machines
  std::uint64_t fewer = 0;     // each later machine has this many less
  std::uint64_t machines = 1;  // in all
};

/// Lays `devices` evenly in as few machines as hold them. Groups of `unit` devices stay in one
/// machine if one holds them. A machine that joins no others, a single one, and full ones need no
/// seating.
void seat_evenly(Machine& machine, std::uint64_t devices, std::uint64_t unit);

/// The seat of a device: seats are numbered through all machines, taken or not.
std::uint64_t seat_of(const Machine& machine, std::uint64_t device);

/// The devices of each machine, as "64 + 64", "7 + 7 + 6" or "100 × 6 + 3 × 5".
std::string seating_text(const Seating& seating);

/// The number of the machine that holds a device.
std::uint64_t machine_with(const Machine& machine, std::uint64_t device);

}  // namespace penstock
