#pragma once

#include <array>
#include <cstdint>

#include "schedules/patterns/rules.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// The slots in which a rank of a V starts the passes of one microbatch: F of its first stage, F of
/// its second, I of the second, I of the first. Each takes one slot.
using BlockOffsets = std::array<std::uint32_t, 4>;
using OffsetsOfRank = BlockOffsets (*)(std::uint32_t ranks, std::uint32_t rank);

/// A V order that repeats a block every six slots, built as in "Pipeline Parallelism with
/// Controllable Memory" (2024): W fills free slots, the second stage first, so that in the steady
/// phase it is next to an I; warm-up and drain are tightened within the memory of the steady phase.
Schedule grow(OffsetsOfRank offsets, std::uint32_t ranks, const ScheduleOptions& options);

}  // namespace penstock
