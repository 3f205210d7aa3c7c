#include "experiments/plan/planner/bounds/laid_links.hpp"

#include <doctest/doctest.h>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/base/error.hpp"

namespace penstock::testing {

TEST_CASE("planner: hardware over laid links refuses what its cost model refuses") {
  Layout layout = settle(parse_scenario(R"({
    "penstock": 1,
    "model": { "stages": [ { "forward_us": 10, "backward_us": 20, "activation_bytes": 1000 },
                           { "forward_us": 10, "backward_us": 20, "activation_bytes": 1000 } ] },
    "hardware": { "name": "dgx-h100", "devices": 2 },
    "schedule": { "name": "1f1b", "microbatches": 4 } })",
                                        "two_stages.json"));
  Clusters clusters;
  CHECK(hardware_over(clusters, layout)->transfer(1000, Rank{0}, Rank{1}).occupies_us > 0);
  layout.hardware.cost_model = "ideal";  // its links have no topology
  CHECK_THROWS_AS(hardware_over(clusters, layout), InputError);
}

}  // namespace penstock::testing
