#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace penstock {

/// Limit on the threads that a user may ask for.
constexpr std::uint32_t most_jobs = 1024;

/// Calls `work` once for every number below `count`, on all cores, or on `most` of them. A call
/// must not touch data that others write. If several calls throw, the exception of the lowest
/// number is rethrown. `on_done`, if any, runs on the calling thread with the number of finished
/// calls; if it throws, no more calls are made.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work,
                 const std::function<void(std::size_t)>& on_done = {}, std::size_t most = SIZE_MAX);

}  // namespace penstock
