#include "experiments/input/orders/python_set.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace penstock::testing {

TEST_CASE("the older lowerings go through stages as a set of CPython does") {
  PythonSet set;
  // As listed by list(set) in CPython 3.11 after the same steps.
  for (const std::uint32_t stage : {4, 11, 8}) set.insert(stage);
  CHECK(set.values() == std::vector<std::uint32_t>{8, 11, 4});
  set.erase(8);
  for (const std::uint32_t stage : {3, 12}) set.insert(stage);
  CHECK(set.values() == std::vector<std::uint32_t>{3, 11, 4, 12});
  CHECK(!set.contains(8));
}

}  // namespace penstock::testing
