#include "validate/statistics/median.hpp"

#include <doctest/doctest.h>

namespace penstock::testing {

TEST_CASE("median: the middle of an odd number, between the middle two of an even one") {
  CHECK(median({}) == 0);
  CHECK(median({3}) == 3);
  CHECK(median({5, 1, 3}) == 3);
  CHECK(median({4, 1, 3, 2}) == 2.5);
}

}  // namespace penstock::testing
