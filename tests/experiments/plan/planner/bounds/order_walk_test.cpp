#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

#include "experiments/plan/planner/bounds/step_bound.hpp"
#include "experiments/plan/planner/planner.hpp"
#include "schedules/registry.hpp"
#include "sim/base/named.hpp"

namespace penstock::testing {
namespace {

constexpr std::uint32_t ranks = 4, walked_microbatches = 8;

/// The bound of an order whose stages take F 1 us and B 2 us, or I and W 1 us each.
double walked(const char* rule, std::uint32_t chunks, const OrderShape& shape,
              const StageBounds& stage) {
  const ScheduleEntry& entry = *find_named(schedule_entries(), rule);
  const Placement placement = entry.place(ranks, chunks);
  const Schedule schedule = make_schedule(entry, placement, {walked_microbatches, {}});
  const std::vector<StageBounds> times(placement.stage_count(), stage);
  return walked_us(walk_of(schedule, placement), placement, times, shape);
}

constexpr StageBounds stage{.forward = 1, .backward = 2, .backward_input = 1, .backward_weight = 1};

}  // namespace

TEST_CASE("a walk of 1F1B takes as long as its closed form") {
  // m + p - 1 cells of 3 us.
  CHECK(walked("1f1b", 1, {}, stage) == doctest::Approx((8 + 4 - 1) * 3.0));
  // A transfer of 0.5 us on each of the p - 1 ways out and back, twice: 1F1B waits for both in its
  // steady state, m / p - 1 times more.
  StageBounds sends = stage;
  sends.send_forward = sends.send_backward = 0.5;
  CHECK(walked("1f1b", 1, {}, sends) > walked("1f1b", 1, {}, stage) + 2.9);
}

TEST_CASE("a walk of split backwards fills bubbles with W") {
  // ZB-H1 leaves p - 1 times F + I - W.
  CHECK(walked("zb-h1", 1, {.splits = true}, stage) == doctest::Approx(8 * 3 + (4 - 1) * 1.0));
}

TEST_CASE("a walk adds recomputation, and what follows the last gradient") {
  StageBounds more = stage;
  more.again = 1;
  CHECK(walked("1f1b", 1, {}, more) == doctest::Approx((8 + 4 - 1) * 4.0));
  more.again = 0;
  more.after = 6;
  CHECK(walked("1f1b", 1, {}, more) == doctest::Approx((8 + 4 - 1) * 3.0 + 6));
  // Overlap cells may hide it.
  more = stage;
  more.again = 1;
  CHECK(walked("1f1b", 1, {.joins = true}, more) == doctest::Approx((8 + 4 - 1) * 3.0));
}

TEST_CASE("a walk of fused cells takes as long as what both parts need of the device") {
  const OrderShape joined{.splits = true, .joins = true};
  OrderShape fused = joined;
  fused.fused = true;
  const double serial = walked("dualpipev", 2, joined, stage);
  StageBounds shares = stage;  // half of the device is left to the other part
  shares.use = {DeviceUse{.compute_us = 0.5}, DeviceUse{.compute_us = 1}};
  const double free = walked("dualpipev", 2, fused, shares);
  CHECK(free < serial - 5);  // a cell takes 2 us for 3
  shares.use[1].compute_us = 2;
  CHECK(walked("dualpipev", 2, fused, shares) > free + 2);  // and 2.5 now
  shares.use = {DeviceUse{.network_us = 1}, DeviceUse{.network_us = 2}};
  CHECK(walked("dualpipev", 2, fused, shares) == doctest::Approx(serial));
}

TEST_CASE("planner: a bound above what was simulated is a fault of the planner") {
  JudgedLayout layout{.bound_us = 100, .least_bytes = 7};
  layout.trial.makespan = from_us(100);
  layout.trial.peak_bytes = 7;
  check_bounds(layout);
  layout.bound_us = 101;
  CHECK_THROWS_WITH_AS(
      check_bounds(layout),
      "fault of the planner: the bound of 101 us is above the step time of 100 us of tensor 1, "
      "pipeline 1, data 1, 1f1b, 1 microbatch of 1, no recomputation; please report it",
      std::logic_error);
  layout.bound_us = 100;
  layout.least_bytes = 9;
  CHECK_THROWS_AS(check_bounds(layout), std::logic_error);
}

}  // namespace penstock::testing
