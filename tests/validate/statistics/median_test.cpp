#include <doctest/doctest.h>

#include "validate/statistics/summary.hpp"

namespace penstock::testing {

TEST_CASE("median: the middle of an odd number, between the middle two of an even one") {
  CHECK(median({}) == 0);
  CHECK(median({3}) == 3);
  CHECK(median({5, 1, 3}) == 3);
  CHECK(median({4, 1, 3, 2}) == 2.5);
}

TEST_CASE("median: its interval lies between values whose ranks a coin toss would hardly leave") {
  // Of 100 values 1, 2, … the number below the median is 50 ± 9.8 at 95 %: ranks 40 to 61.
  std::vector<double> values;
  for (int i = 1; i <= 100; ++i) values.push_back(i);
  CHECK(median_interval(values).low == 40);
  CHECK(median_interval(values).high == 61);
  CHECK(median_interval({3, 1, 2}).low == 1);
  CHECK(median_interval({3, 1, 2}).high == 3);
  CHECK(median_interval({}).high == 0);
}

TEST_CASE("trimmed mean: an eighth of the values at each end does not count") {
  CHECK(trimmed_mean({1, 2, 3}) == 2);
  CHECK(trimmed_mean({100, 4, 3, 5, 4, 4, 4, -50}) == 4);
  CHECK(trimmed_mean({}) == 0);
}

}  // namespace penstock::testing
