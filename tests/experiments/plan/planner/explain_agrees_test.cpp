#include <doctest/doctest.h>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/changes/tried_changes.hpp"
#include "tests/support/plans.hpp"

namespace penstock::testing {
namespace {

/// Checks that the planner ranks what `explain` offers above the scenario, fastest first. Returns
/// how many changes that are.
std::size_t check_agreement(const Scenario& scenario) {
  const auto clusters = std::make_shared<Clusters>();
  const RunResult result = run(scenario);
  REQUIRE(result.report);
  const Trial now = try_layout(scenario, catalogue(), clusters);
  CHECK(now.makespan == result.report->makespan);
  Time before{};
  const std::vector<TriedChange> offers = faster_changes(scenario, result).changes;
  for (const TriedChange& offer : offers) {
    CAPTURE(offer.change.text());
    const Trial trial = try_layout(changed(scenario, offer.change.settings), catalogue(), clusters);
    CHECK(trial.fits());
    CHECK(trial.makespan == offer.makespan);
    CHECK(trial.makespan < now.makespan);
    CHECK(trial.makespan >= before);
    before = trial.makespan;
  }
  return offers.size();
}

}  // namespace

TEST_CASE(
    "what explain says to change is a neighbour that layout ranks higher, the fastest first") {
  const std::string root = PENSTOCK_ROOT;
  std::size_t offers = 0;
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{},
        {"/parallel/tensor=8", "/parallel/pipeline=1"},
        {"/recompute/mode=full"},
        {"/parallel/pipeline=4", "/parallel/tensor=2", "/parallel/chunks=2",
         "/schedule/name=interleaved-1f1b"}}) {
    const Scenario scenario =
        read_scenario(root + "/experiments/scenarios/llama_8b_on_a_dgx_h100.json", settings);
    offers += check_agreement(scenario);
  }
  CHECK(offers >= 20);
}

}  // namespace penstock::testing
