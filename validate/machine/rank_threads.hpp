#pragma once

#include <cstdint>
#include <functional>

namespace penstock {

/// Calls `work(rank)` for each rank in its own thread and returns when all have ended. When one
/// throws or cannot start, calls `failed`, so that others stop waiting, and rethrows the first
/// exception. Threads treat denormals as zero. Nothing is allocated inside the threads.
void on_all_ranks(std::uint32_t ranks, const std::function<void(std::uint32_t)>& work,
                  const std::function<void()>& failed);

}  // namespace penstock
