#include "validate/statistics/bootstrap.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace penstock::testing {
namespace {

/// 0 to `count - 1`, of which a share of s reaches from (1 - s) / 2 to (1 + s) / 2 of the last.
std::vector<double> evenly_spread(std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i));
  return values;
}

}  // namespace

// 95 % of Student's t with 28 degrees of freedom lie within 2.0484. sqrt(30/28) of that is 2.1203
// standard deviations of a normal distribution, within which are 96.602 % of it.
TEST_CASE("bootstrap: intervals take more of the draws the fewer points there are") {
  const std::vector<double> draws = evenly_spread(10'001);
  const Interval of_thirty = covering_interval(draws, 0.95, 30, 2);
  CHECK(of_thirty.low == doctest::Approx(169.9).epsilon(0.002));
  CHECK(of_thirty.high == doctest::Approx(9830.1).epsilon(0.0001));
  const Interval of_many = covering_interval(draws, 0.95, 1'000'000, 2);
  CHECK(of_many.low == doctest::Approx(250).epsilon(0.002));
  CHECK(covering_interval(draws, 0.95, 7, 2).low < 20);
}

// Three of 301 draws at each end: 0, 1 and 2. Of 101, 95 % leave out fewer.
TEST_CASE("bootstrap: few draws say nothing of their ends, however few points there are") {
  const Interval of_many_draws = covering_interval(evenly_spread(301), 0.95, 2, 2);
  CHECK(of_many_draws.low == doctest::Approx(300 * 3.0 / 301));
  const Interval of_few_draws = covering_interval(evenly_spread(101), 0.95, 7, 2);
  CHECK(of_few_draws.low == doctest::Approx(2.5));
  CHECK(of_few_draws.high == doctest::Approx(97.5));
}

}  // namespace penstock::testing
