#pragma once

#include <atomic>
#include <cstdint>

namespace penstock::testing {

/// Calls of operator new so far, in all threads.
inline std::atomic<std::uint64_t> allocations = 0;

}  // namespace penstock::testing
