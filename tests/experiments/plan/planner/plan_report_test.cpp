#include "experiments/plan/planner/plan_report.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace penstock::testing {
namespace {

TEST_CASE("planner: two layouts share most of the error of their prices") {
  LayoutPlan plan;
  JudgedLayout one, other;
  one.trial.makespan = from_us(100);
  other.trial.makespan = from_us(100);
  CHECK(faster_with(plan, one, other) == doctest::Approx(0.5));
  // One standard deviation: 84.1 % of a normal distribution lie below it.
  other.trial.makespan = from_us(100 * std::exp(0.08));
  CHECK(faster_with(plan, one, other) == doctest::Approx(0.841).epsilon(0.001));
  CHECK(faster_with(plan, other, one) == doctest::Approx(0.159).epsilon(0.01));
  // On another stack the errors are not the same.
  other.choice.zero = 3;
  plan.spread = 0.1;
  CHECK(faster_with(plan, one, other) < 0.75);
}

JudgedLayout listed_layout(double us, std::uint64_t bytes, std::uint32_t chunks,
                           std::uint32_t tensor = 1) {
  JudgedLayout layout;
  layout.trial.makespan = from_us(us);
  layout.trial.peak_bytes = bytes;
  layout.choice.chunks = chunks;
  layout.choice.tensor = tensor;
  return layout;
}

TEST_CASE("planner: a family is one row with its best, and with those as fast") {
  const std::vector<JudgedLayout> layouts{listed_layout(100, 5, 3), listed_layout(100.9, 5, 4),
                                          listed_layout(101, 5, 1, 2), listed_layout(101.1, 5, 5),
                                          listed_layout(105, 5, 1, 4)};
  const auto rows = listed_families(layouts, 2);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].best == &layouts[0]);
  REQUIRE(rows[0].near.size() == 1);
  CHECK(rows[0].near[0]->choice.chunks == 4);
  CHECK(rows[1].best->choice.tensor == 2);
  CHECK(listed_families(layouts, 9).size() == 3);
}

TEST_CASE("planner: the front is what is smaller than everything faster") {
  const std::vector<JudgedLayout> layouts{listed_layout(1, 50, 1), listed_layout(2, 60, 1),
                                          listed_layout(3, 40, 1), listed_layout(4, 40, 1)};
  CHECK(front_of(layouts) == std::vector<const JudgedLayout*>{&layouts[0], &layouts[2]});
}

}  // namespace
}  // namespace penstock::testing
