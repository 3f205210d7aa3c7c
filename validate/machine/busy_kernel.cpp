#include "validate/machine/busy_kernel.hpp"

#include <algorithm>
#include <ctime>

namespace penstock {

std::int64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::uint64_t spin(std::uint64_t steps, std::uint64_t seed) {
  std::uint64_t value = seed | 1;
  for (std::uint64_t step = 0; step < steps; ++step) {
    value ^= value >> 29;
    value *= 0xbf58'476d'1ce4'e5b9U;  // odd, so no information is lost
  }
  return value;
}

std::int64_t quickest_spin_ns(std::uint64_t steps, int trials, std::int64_t (*clock_ns)()) {
  std::int64_t quickest = INT64_MAX;
  volatile std::uint64_t result = 1;  // volatile, so the work is not optimised away
  for (int trial = 0; trial < trials; ++trial) {
    const std::int64_t begin = clock_ns();
    result = spin(steps, result);
    quickest = std::min(quickest, clock_ns() - begin);
  }
  return std::max<std::int64_t>(quickest, 1);
}

double spin_steps_per_ns() {
  constexpr std::uint64_t steps = 200'000;
  return static_cast<double>(steps) /
         static_cast<double>(quickest_spin_ns(steps, 7, thread_cpu_ns));
}

}  // namespace penstock
