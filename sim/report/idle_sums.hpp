#pragma once

#include <array>
#include <cstddef>

#include "sim/base/time_sum.hpp"
#include "sim/report/idle.hpp"

namespace penstock {

/// Idle time of several ranks by cause.
struct IdleSums {
  std::array<TimeSum, idle_cause_count> by_cause{};

  IdleSums& operator+=(const IdleCauses& of_rank) {
    for (std::size_t c = 0; c < idle_cause_count; ++c) by_cause[c] += of_rank.*idle_times[c];
    return *this;
  }
  TimeSum total() const {
    TimeSum sum;
    for (const TimeSum time : by_cause) sum += time;
    return sum;
  }
};

constexpr TimeSum time_of(const IdleSums& sums, IdleCause cause) {
  return sums.by_cause[static_cast<std::size_t>(cause)];
}

}  // namespace penstock
