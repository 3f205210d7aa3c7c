#include "experiments/plan/order_search/search_problem.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "experiments/plan/order_search/order_hunt.hpp"
#include "experiments/run/run.hpp"
#include "schedules/search/sequences.hpp"

namespace penstock::testing {
namespace {

/// The makespan of a layout's own order, as a search reckons it.
SearchTime reckoned(const Layout& layout) {
  const OrderProblem orders = search_problem(layout).orders;
  const auto order = searched_order_of(layout.schedule, layout, orders);
  REQUIRE(order);
  SequenceTimes times(orders);
  times.set_forms(order->forms);
  REQUIRE(times.run(order->sequences));
  return times.makespan();
}

/// 70B on 8 ranks of 4 H100 with 8 replicas, priced by the catalogue.
Scenario priced(const std::string& schedule, int chunks, const std::string& parallel) {
  return parse_scenario(R"({"model": {"file": ")" PENSTOCK_ROOT
                        R"(/experiments/models/llama-3.1-70b.json", "sequence": 4096,
        "microbatch": 1}, "hardware": {"name": "dgx-h100", "devices": 256},
        "partition": {"name": "balanced"},
        "parallel": {"pipeline": 8, "tensor": 4, "data": 8, "chunks": )" +
                            std::to_string(chunks) + parallel + R"(}, "schedule": {"name": ")" +
                            schedule + R"(", "microbatches": 32}, "memory": {"zero": 1}})",
                        "s.json");
}

}  // namespace

TEST_CASE(
    "a search reckons reductions and updates behind the last passes as the engine runs them") {
  for (const char* parallel : {"", R"(, "overlap_gathers": false)"}) {
    for (const auto& [schedule, chunks] :
         std::vector<std::pair<std::string, int>>{{"zb-h2", 1}, {"1f1b", 1}, {"zb-v", 2}}) {
      CAPTURE(schedule);
      CAPTURE(parallel);
      const RunResult result = run(priced(schedule, chunks, parallel));
      REQUIRE(result.report);
      const auto engine = static_cast<double>(result.report->makespan.picoseconds);
      CHECK(static_cast<double>(reckoned(result.layout)) == doctest::Approx(engine).epsilon(4e-3));
      CHECK(search_problem(result.layout).bound <= result.report->makespan.picoseconds);
    }
  }
}

TEST_CASE("search: an own order that waits for memory for good does not fit; others are searched") {
  const auto hunted = [](const std::string& policy) {
    return hunt_order(parse_scenario(R"({"model": {"stages": [{"forward_us": 1, "backward_us": 2,
        "stash_bytes": 1, "repeat": 4}]}, "hardware": {"name": "ideal", "devices": 4},
        "schedule": {"name": "1f1b", "microbatches": 8},
        "memory": {"capacity_bytes": 2, "policy": ")" +
                                         policy + R"("}})",
                                     "s.json"),
                      {.evaluations = 1000});
  };
  const HuntResult stalling = hunted("stall"), fitting = hunted("finding");
  REQUIRE(stalling.fits);
  REQUIRE(fitting.fits);
  CHECK(stalling.run.report->makespan <= fitting.run.report->makespan);
  REQUIRE(stalling.named.size() == fitting.named.size());
  for (const ComparedOrder& order : stalling.named) {
    if (order.name == "1f1b") CHECK_FALSE(order.may_fit);
    CHECK(order.layout.memory.policy == MemoryPolicy::stall);
  }
}

}  // namespace penstock::testing
