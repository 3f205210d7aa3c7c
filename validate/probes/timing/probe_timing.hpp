#pragma once

#include <cstdint>
#include <functional>

namespace penstock {

/// Runs a kernel and returns what it took, in nanoseconds.
using Sampler = std::function<double()>;

/// Reads a clock, in nanoseconds.
using Clock = std::int64_t (*)();

/// The clock that everybody shares.
std::int64_t steady_ns();

/// Samples some work by running it as often as it takes to see through the grain of a clock, 20 us
/// at least, and dividing by that; how often is found here, once.
Sampler repeated(std::function<void()> work, Clock clock);

}  // namespace penstock
