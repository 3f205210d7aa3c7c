#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/plan/plan.hpp"
#include "validate/job/backend.hpp"

namespace penstock {

/// How long tensors were on their way, as far as the ops at both ends tell.
struct TransferTimes {
  std::vector<std::int64_t> by_class;      // by work class, nanoseconds; 0 for actions
  std::optional<std::int64_t> typical_ns;  // the median over all readers that waited for a tensor
  std::int64_t clock_error_ns = 0;  // how much earlier than its tensor was sent a reader began, at
                                    // most
};

/// Of a link and pass: the median time from the end of an op to the begin of what reads its tensor,
/// over the readers whose rank was free by then; the least of all where none was, and never below
/// 0. Only the spans of actions are looked at.
TransferTimes transfer_times(const Plan& plan, const std::vector<Iteration>& iterations);

/// Gives transfers their spans: each leaves when its op ends, and arrives that much later, but no
/// later than what reads it begins.
void place_transfers(const Plan& plan, const TransferTimes& times, Iteration& iteration);

}  // namespace penstock
