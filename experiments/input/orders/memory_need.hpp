#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "schedules/registry.hpp"
#include "sim/engines/replicas.hpp"
#include "sim/order/placement.hpp"

namespace penstock {

/// Memory that work on a run takes for each of its cells, that is, for each microbatch on each
/// stage: estimates, within a factor of two of what was measured (tests/memory_need).
struct CellBytes {
  static constexpr double order = 190;          // its order alone, printed
  static constexpr double lowered_order = 950;  // with communication
  static constexpr double run = 370;
  static constexpr double json = 650;  // and each of the following: more than a run alone
  static constexpr double timeline = 400;
  static constexpr double trace = 700;
  static constexpr double page = 550;
  static constexpr double picture = 150;
  static constexpr double explanation = 900;
  static constexpr double draws = 350;
  /// Beyond a run of equal microbatches, for this many data replicas.
  static double documents(std::uint32_t replicas) {
    return 1500 + 95.0 * std::min(replicas, most_drawn_replicas);
  }
};

/// Throws OverBudget, before an order is made, if work on it takes more memory than there is.
/// `what`: "gpt.json: /schedule: 1f1b".
void need_memory_for(const std::string& what, const Placement& placement,
                     const ScheduleOptions& options, std::uint32_t slices, double bytes_per_cell);

}  // namespace penstock
