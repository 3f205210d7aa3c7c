#include <doctest/doctest.h>

#include <algorithm>

#include "validate/transports/tcp_peers.hpp"

namespace penstock::testing {

// How long it takes is a matter of the machine; that it takes some time, and 4 MiB more than 8
// bytes at best, is not.
TEST_CASE("link probe: tensors go to and fro over a link, large ones for longer") {
  const auto small = measure_link(8, 200);
  const auto large = measure_link(std::size_t{1} << 22, 9);
  REQUIRE(small.size() == 200);
  REQUIRE(large.size() == 9);
  CHECK(*std::min_element(small.begin(), small.end()) > 0);
  CHECK(*std::min_element(large.begin(), large.end()) >
        *std::min_element(small.begin(), small.end()));
  CHECK(measure_link(0, 1).size() == 1);
  CHECK(measure_link(8, 0).empty());
}

}  // namespace penstock::testing
