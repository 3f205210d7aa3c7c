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

/// The number of the machine that holds a device.
std::uint64_t machine_with(const Machine& machine, std::uint64_t device);

}  // namespace penstock
