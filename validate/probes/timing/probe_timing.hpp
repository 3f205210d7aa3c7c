#pragma once

#include <cstdint>
#include <functional>

namespace penstock {

/// Runs a kernel once and returns its nanoseconds.
using Sampler = std::function<double()>;

/// Reads a clock, in nanoseconds.
using Clock = std::int64_t (*)();

/// The steady clock in nanoseconds.
std::int64_t steady_ns();

/// Samples work by repeating it until a sample takes at least 20 us, above clock resolution; the
/// number of repetitions is determined once.
Sampler repeated(std::function<void()> work, Clock clock);

}  // namespace penstock
