#include <doctest/doctest.h>

#include <vector>

#include "validate/machine/busy_kernel.hpp"
#include "validate/machine/clock.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock::testing {
namespace {

constexpr int laps = 301;

/// The median difference between two readings of the CPU clock.
double reading_of_cpu_clock_ns() {
  std::vector<double> all;
  for (int i = 0; i < laps; ++i) {
    const std::int64_t before = thread_cpu_ns();
    all.push_back(static_cast<double>(thread_cpu_ns() - before));
  }
  return median(all);
}

}  // namespace

TEST_CASE("work clock: reading it does not count") {
  WorkClock clock;
  std::vector<double> empty;
  for (int i = 0; i < laps; ++i) empty.push_back(clock.lap_ns());
  CHECK(median(empty) < 0.7 * reading_of_cpu_clock_ns());
}

TEST_CASE("work clock: time without the core does not count") {
  WorkClock clock;
  sleep_until(monotonic_ns() + 20'000'000);
  CHECK(clock.lap_ns() < 10'000'000);
}

TEST_CASE("work clock: work counts, from lap to lap") {
  WorkClock clock;
  std::uint64_t kept = spin(100, 1);
  clock.start();
  const std::int64_t before = thread_cpu_ns();
  kept = spin(3'000'000, kept);
  const auto spent = static_cast<double>(thread_cpu_ns() - before);
  const double lap = clock.lap_ns();
  CHECK(kept != 0);
  CHECK(lap > 0.5 * spent);
  CHECK(lap < 1.5 * spent);
  CHECK(clock.lap_ns() < 0.5 * spent);
}

}  // namespace penstock::testing
