#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/measure/measured_runs/run_times.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// By rank, how far its clock is ahead of the first one's, in nanoseconds: half of what tensors
/// take longer one way than back, over pairs of ranks that are no slower than others there and
/// back. A slow pair aligns the ranks at either side where a tensor arrives before it leaves: to a
/// clock that fits, or else by half as well, which is off by at most half of its round trip. Where
/// such clocks contradict pairs that close a ring, others that fit all, if there are any: as many
/// as can stay as they are. Empty where times fit one clock: no op began before what it needs had
/// ended, but for `overlap_ns`, and no link is slow whose tensors are back as soon as those of
/// other pairs.
std::vector<std::int64_t> clock_offsets(const Plan& plan, const TransferTimes& times,
                                        std::int64_t overlap_ns);

/// Which ranks have clocks that do not fit, and by how much, for the reader; "" if all do, but for
/// `overlap_ns`.
std::string unaligned_clocks(const TransferTimes& times, std::int64_t overlap_ns);

/// Which clocks are half a step or more from the first one's, so that other steps may be those that
/// belong together, for the reader; "" if none.
std::string far_clocks(const std::vector<std::int64_t>& offsets, std::int64_t step_ns);

/// Moves the actions of each rank to the clock of the first, and the first of all to 0. How much
/// later it began than without offsets, in nanoseconds.
std::int64_t align_clocks(const Plan& plan, const std::vector<std::int64_t>& offsets,
                          Timeline& timeline);

}  // namespace penstock
