#pragma once

#include <cstdint>

#include "schedules/patterns/block_slots.hpp"
#include "schedules/patterns/options.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// A V order that repeats a block every six slots, built as in "Pipeline Parallelism with
/// Controllable Memory" (2024): W fills free slots, the second stage first, so that in the steady
/// phase it is next to an I; warm-up and drain are tightened within the memory of the steady phase.
Schedule grow(OffsetsOfRank offsets, std::uint32_t ranks, const ScheduleOptions& options);

}  // namespace penstock
