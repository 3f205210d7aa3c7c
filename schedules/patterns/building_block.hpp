#pragma once

#include <array>
#include <cstdint>

#include "schedules/patterns/options.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// The slots in which a rank of a V starts the passes of one microbatch: F of its first stage, F of
/// its second, I of the second, I of the first.
using BlockOffsets = std::array<std::uint32_t, 4>;

/// A V order built from a block that repeats every six slots. Each rank sorts its F and I by the
/// slots of the block. In each slot it runs the first ready one of the next `look_ahead`, and F
/// only while it holds fewer than `cap` activations; otherwise the oldest pending W.
struct BuildingBlock {
  BlockOffsets (*offsets)(std::uint32_t ranks, std::uint32_t rank);
  std::uint32_t look_ahead;
  std::uint32_t cap;
};
Schedule grow(const BuildingBlock& block, std::uint32_t ranks, const ScheduleOptions& options);

}  // namespace penstock
