#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Transfer times, derived from the ops at both ends.
struct TransferTimes {
  std::vector<Time> by_class;              // by work class, whole nanoseconds; 0 for actions
  std::optional<std::int64_t> typical_ns;  // median over all readers that waited for a tensor
  std::int64_t clock_error_ns = 0;  // the most that a reader began before its tensor was sent
};

/// For each link and pass: the median time from the end of an op to the begin of its reader, over
/// readers whose rank was free by then. If no rank ever was, the minimum; never below 0. Only reads
/// the spans of actions. `host_after`, by iteration and task, is what a rank's host does behind an
/// action, a tensor leaves and the rank is free only then; it may be empty.
TransferTimes transfer_times(const Plan& plan, const std::vector<Timeline>& iterations,
                             const std::vector<std::vector<Time>>& host_after);

/// Sets the spans of transfers and the last inputs of all tasks. A transfer starts when its op
/// ends, and takes the time of its class, or less if its reader begins earlier.
void place_transfers(const Plan& plan, const TransferTimes& times, Timeline& timeline);

}  // namespace penstock
