#include <doctest/doctest.h>

#include "sim/report/report.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {

TEST_CASE("a physical link carries what the links of the plan carry over it") {
  // Three microbatches of 4,000 bytes go from 0 to 1 over "a" and "b", of 2,000 from 1 to 2 over
  // "b". In 24 us "a" could carry 48,000 bytes and carries 12,000: 25 %; "b" 24,000 and 18,000:
  // 75 %. Nothing goes over "c".
  Layer first = stage_of(1, 1), second = stage_of(1, 1);
  first.activation_bytes = 4000;
  second.activation_bytes = 2000;
  const System system{Placement::loop(3, 1),
                      order_of("0F0,0F1,0F2\n1F0,1F1,1F2\n2F0,2F1,2F2"),
                      {first, second, stage_of(1, 1)}};
  const Plan plan = lowered(system);
  REQUIRE(plan.links == std::vector<Link>{{Rank{0}, Rank{1}}, {Rank{1}, Rank{2}}});
  const Network network{{{"a", 2e9}, {"c", 1e9}, {"b", 1e9}}, {{0, 2}, {2}}};
  const auto use = network_use(plan, priced(system, plan), network, from_us(24));
  REQUIRE(use.size() == 2);
  CHECK(use[0].name == "a");
  CHECK(use[0].transfers == 3);
  CHECK(use[0].bytes == 12000);
  CHECK(use[0].utilization == doctest::Approx(0.25));
  CHECK(use[1].name == "b");
  CHECK(use[1].transfers == 6);
  CHECK(use[1].bytes == 18000);
  CHECK(use[1].utilization == doctest::Approx(0.75));
  CHECK(network_use(plan, priced(system, plan), {}, from_us(24)).empty());
}

}  // namespace penstock::testing
