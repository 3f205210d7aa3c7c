#pragma once

#include <cstdint>

#include "sim/plan/plan.hpp"
#include "sim/report/idle.hpp"

namespace penstock {

/// Idle time of one cause, and the op behind it.
constexpr std::uint32_t no_next = 0x1fff'ffffU;
constexpr std::uint32_t idle_tag(IdleCause cause, TaskId next) {
  return static_cast<std::uint32_t>(cause) << 29 | (next < no_next ? next : no_next);
}
constexpr IdleCause cause_of(std::uint32_t tag) { return static_cast<IdleCause>(tag >> 29); }
constexpr TaskId next_of(std::uint32_t tag) {
  return (tag & no_next) == no_next ? no_task : tag & no_next;
}

}  // namespace penstock
