#pragma once

#include <cstdint>

namespace penstock {

/// How long this thread has kept a core busy, in nanoseconds.
std::int64_t thread_cpu_ns();

/// Keeps a core busy for so many steps, each of which needs the one before. What it returns depends
/// on all of them.
std::uint64_t spin(std::uint64_t steps, std::uint64_t seed);

/// How many steps keep this machine busy for a nanosecond, by the quickest of several trials.
double spin_steps_per_ns();

}  // namespace penstock
