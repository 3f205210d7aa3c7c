#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/report/idle.hpp"

namespace penstock {

/// The causes of IdleCauses, in their order within a gap.
enum class IdleCause : std::uint8_t {
  warmup,
  dependency,
  contention,
  transfer,
  memory,
  launch,
  drain,
};
constexpr std::size_t idle_cause_count = 7;

constexpr const char* name(IdleCause cause) {
  constexpr std::array<const char*, idle_cause_count> names{
      "warm-up", "dependency", "contention", "transfer", "memory", "launch", "drain"};
  return names[static_cast<std::size_t>(cause)];
}

constexpr Time time_of(const IdleCauses& causes, IdleCause cause) {
  constexpr std::array<Time IdleCauses::*, idle_cause_count> times{
      &IdleCauses::warmup, &IdleCauses::dependency, &IdleCauses::contention, &IdleCauses::transfer,
      &IdleCauses::memory, &IdleCauses::launch,     &IdleCauses::drain};
  return causes.*times[static_cast<std::size_t>(cause)];
}

}  // namespace penstock
