#pragma once

#include <cstdint>
#include <string>

#include "hardware_models/spec/machine.hpp"

namespace penstock {

/// Lays `devices` evenly in as few machines as hold them. Groups of `unit` devices stay in one
/// machine if one holds them. A machine that joins no others, a single one, and full ones need no
/// seating.
void seat_evenly(Machine& machine, std::uint64_t devices, std::uint64_t unit);

/// The seat of a device: seats are numbered through all machines, taken or not.
std::uint64_t seat_of(const Machine& machine, std::uint64_t device);

/// The devices of each machine, as "64 + 64", "7 + 7 + 6" or "100 × 6 + 3 × 5".
std::string seating_text(const Seating& seating);

/// The devices of one machine: from `first` to before `end`.
struct SeatedDevices {
  std::uint64_t first = 0;
  std::uint64_t end = 1;
};

/// The devices of the machine that holds a device.
SeatedDevices seated_with(const Machine& machine, std::uint64_t device);

}  // namespace penstock
