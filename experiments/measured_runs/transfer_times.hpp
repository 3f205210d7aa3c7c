#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/timeline/timeline.hpp"

namespace penstock {

/// How long tensors were on their way, as far as the ops at both ends tell.
struct TransferTimes {
  std::vector<Time> by_class;              // by work class, whole nanoseconds; 0 for actions
  std::optional<std::int64_t> typical_ns;  // the median over all readers that waited for a tensor
  std::int64_t clock_error_ns = 0;  // how much earlier than its tensor was sent a reader began, at
                                    // most
};

/// Of a link and pass: the median time from the end of an op to the begin of what reads its tensor,
/// over the readers whose rank was free by then; the least of all where none was, and never below
/// 0. Only the spans of actions are looked at.
TransferTimes transfer_times(const Plan& plan, const std::vector<Timeline>& iterations);

/// Gives transfers their times, and all tasks their last inputs: a transfer leaves when its op
/// ends, and arrives that much later, but no later than what reads it begins.
void place_transfers(const Plan& plan, const TransferTimes& times, Timeline& timeline);

}  // namespace penstock
