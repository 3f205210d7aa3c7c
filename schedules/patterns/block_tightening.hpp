#pragma once

#include "schedules/patterns/block_slots.hpp"

namespace penstock {

/// Moves the passes before and after the steady phase to earlier free slots, as far as no rank then
/// holds more than the most that any rank holds now. With W in the slots, W moves too. Without,
/// only the drain is moved, and each free slot counts as a W of an earlier I.
void tighten(BlockSlots& slots);

}  // namespace penstock
