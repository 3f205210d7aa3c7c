#include "validate/transports/link_probe.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace penstock::testing {

// How long it takes is a matter of the machine; that it takes some time, and 4 MiB more than 8
// bytes at best, is not.
TEST_CASE("link probe: tensors go to and fro over each kind of link, large ones for longer") {
  for (const TransportKind kind : {TransportKind::mailboxes, TransportKind::tcp}) {
    CAPTURE(name(kind));
    const auto small = measure_link(kind, 8, 200);
    const auto large = measure_link(kind, std::size_t{1} << 22, 9);
    REQUIRE(small.size() == 200);
    REQUIRE(large.size() == 9);
    CHECK(*std::min_element(small.begin(), small.end()) > 0);
    CHECK(*std::min_element(large.begin(), large.end()) >
          *std::min_element(small.begin(), small.end()));
    CHECK(measure_link(kind, 0, 1).size() == 1);
    CHECK(measure_link(kind, 8, 0).empty());
  }
}

}  // namespace penstock::testing
