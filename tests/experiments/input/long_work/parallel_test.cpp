#include "experiments/input/long_work/parallel.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace penstock::testing {

TEST_CASE("in parallel: each number is worked on once") {
  std::vector<std::atomic<int>> times(1000);
  in_parallel(times.size(), [&](std::size_t number) { ++times[number]; });
  for (const std::atomic<int>& one : times) CHECK(one == 1);
  in_parallel(0, [](std::size_t) { throw std::logic_error("no work"); });
}

TEST_CASE("in parallel: of several that fail, the one of the lowest number comes out") {
  // The first waits until another one has failed, or had every chance to.
  std::atomic<bool> other = false;
  const auto fail = [&](std::size_t number) {
    for (int patience = 0; number == 0 && !other && patience < 100'000'000; ++patience) {
    }
    other = true;
    throw std::runtime_error(std::to_string(number));
  };
  CHECK_THROWS_WITH(in_parallel(100, fail), "0");
}

}  // namespace penstock::testing
