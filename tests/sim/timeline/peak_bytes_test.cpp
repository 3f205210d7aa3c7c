#include "sim/timeline/peak_bytes.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "sim/report/memory.hpp"
#include "tests/support/random_system.hpp"

namespace penstock::testing {

TEST_CASE("peak bytes: of any run, under other sizes too, those of the memory peaks") {
  CHECK(rc::check([] {
    Outcome outcome = simulated(random_system());
    PeakBytes peaks(outcome.plan);
    for (const std::uint64_t factor : {1, 0, 3}) {
      for (std::uint64_t& bytes : outcome.costs.bytes) bytes *= factor;
      const auto all = memory_peaks(outcome.plan, outcome.costs, outcome.timeline);
      const auto bytes = peaks.of(outcome.plan, outcome.costs, outcome.timeline);
      RC_ASSERT(bytes.size() == all.size());
      for (std::size_t r = 0; r < all.size(); ++r) RC_ASSERT(bytes[r] == all[r].bytes);
      for (std::size_t b = 0; b < outcome.costs.bytes.size(); ++b) {
        outcome.costs.bytes[b] = 1 + b * 7 % 5;
      }
    }
  }));
}

}  // namespace penstock::testing
