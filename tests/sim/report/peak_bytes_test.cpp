#include "sim/report/peak_bytes.hpp"

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

TEST_CASE("a report of times alone has the times and bubbles of the whole report") {
  CHECK(rc::check([] {
    const Outcome outcome = simulated(random_system());
    const Report times = summarize_times(outcome.plan, outcome.timeline);
    RC_ASSERT(times.makespan == outcome.report.makespan);
    RC_ASSERT(times.bubble.of_makespan == outcome.report.bubble.of_makespan);
    RC_ASSERT(times.bubble.over_ideal == outcome.report.bubble.over_ideal);
    RC_ASSERT(times.bubble.of_longest_span == outcome.report.bubble.of_longest_span);
    for (std::size_t r = 0; r < times.ranks.size(); ++r) {
      RC_ASSERT(times.ranks[r].idle == outcome.report.ranks[r].idle);
      RC_ASSERT(times.ranks[r].start == outcome.report.ranks[r].start);
    }
  }));
}

}  // namespace penstock::testing
