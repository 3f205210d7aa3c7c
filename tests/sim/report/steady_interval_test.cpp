#include <doctest/doctest.h>

#include "sim/report/report.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

std::optional<double> interval_of(const System& system) {
  const Outcome outcome = simulated(system);
  return steady_interval_us(outcome.plan, outcome.timeline);
}

}  // namespace

TEST_CASE("the steady interval leaves out as many at either end as are in flight") {
  // One rank, f = 1, b = 2; two microbatches enter before the first leaves. They leave at 4, 7, 10,
  // 13, 16 and 18: between the two at either end, 10 and 13, there are 3.
  const Placement one = Placement::loop(1, 1);
  CHECK(interval_of(
            {one, order_of("0F0,0F1,0B0,0F2,0B1,0F3,0B2,0F4,0B3,0F5,0B4,0B5"), {stage_of(1, 2)}}) ==
        3);
  // With five there is one left, which has no interval.
  CHECK_FALSE(
      interval_of({one, order_of("0F0,0F1,0B0,0F2,0B1,0F3,0B2,0F4,0B3,0B4"), {stage_of(1, 2)}}));
  CHECK_FALSE(interval_of({one, order_of("0F0,0F1"), {stage_of(1, 2)}}));
}

TEST_CASE("with replicas the steady interval goes over whole turns") {
  // Two replicas of the one stage, f = 1, b = 2, the second with two microbatches less to wait for:
  // they leave two at a time, at 3, 6, 9 and 12. Two are passed over at either end; between the
  // last of what is left, 9, and two before it, 6, there are 3 for two microbatches.
  const Placement pair = Placement::given(2, {{Rank{0}, Rank{1}}}, {{Stage{0}}});
  const char* csv =
      "0F0,0B0,0F2,0B2,0F4,0B4,0F6,0B6,0F8,0B8\n0F1,0B1,0F3,0B3,0F5,0B5,0F7,0B7,0F9,0B9";
  CHECK(interval_of({pair, order_of(csv), {stage_of(1, 2)}}) == 1.5);
  // Of eight microbatches four are left: their first and last are no whole period of two apart but
  // three, which is cut to two.
  const char* eight = "0F0,0B0,0F2,0B2,0F4,0B4,0F6,0B6\n0F1,0B1,0F3,0B3,0F5,0B5,0F7,0B7";
  CHECK(interval_of({pair, order_of(eight), {stage_of(1, 2)}}) == 1.5);
}

}  // namespace penstock::testing
