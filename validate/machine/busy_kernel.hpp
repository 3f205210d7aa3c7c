#pragma once

#include <cstdint>

namespace penstock {

/// CPU time of this thread in nanoseconds.
std::int64_t thread_cpu_ns();

/// Runs this many dependent steps. The result depends on all of them.
std::uint64_t spin(std::uint64_t steps, std::uint64_t seed);

/// The least time of several runs of this many steps, by a clock in nanoseconds; at least 1.
std::int64_t quickest_spin_ns(std::uint64_t steps, int trials, std::int64_t (*clock_ns)());

/// Busy steps per nanosecond on this machine, the fastest of several trials.
double spin_steps_per_ns();

}  // namespace penstock
