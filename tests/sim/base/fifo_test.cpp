#include "sim/base/fifo.hpp"

#include <doctest/doctest.h>

#include <deque>

namespace penstock {

TEST_CASE("a fifo gives what a deque gives, however long it gets and however often it is emptied") {
  Fifo<int> fifo;
  std::deque<int> expected;
  for (int i = 0; i < 5000; ++i) {
    fifo.push(i);
    expected.push_back(i);
    // Grows to hundreds, then shrinks to nothing, again and again.
    const int pops = i / 1000 % 2 == 0 ? i % 2 : 2;
    for (int k = 0; k < pops && !expected.empty(); ++k) {
      REQUIRE(fifo.front() == expected.front());
      REQUIRE(fifo.back() == expected.back());
      fifo.pop();
      expected.pop_front();
    }
    REQUIRE(fifo.empty() == expected.empty());
  }
}

}  // namespace penstock
