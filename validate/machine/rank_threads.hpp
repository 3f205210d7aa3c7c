#pragma once

#include <cstdint>
#include <functional>

namespace penstock {

/// Calls `work(rank)` for each rank, in a thread of its own, and returns when all have come to an
/// end. `failed` is called when one throws or cannot be started, so that others need not wait for
/// it; the first of what was thrown is thrown again. Their arithmetic takes denormals for zero.
/// What a thread does itself allocates nothing.
void on_all_ranks(std::uint32_t ranks, const std::function<void(std::uint32_t)>& work,
                  const std::function<void()>& failed);

}  // namespace penstock
