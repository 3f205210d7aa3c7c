#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/plan/planner/planner.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/explanation/scenario_changes.hpp"

namespace penstock::testing {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// Checks that the planner ranks what `explain` offers above the scenario, fastest first. Returns
/// how many changes that are.
std::size_t check_agreement(const Scenario& scenario, const Catalogue& catalogue) {
  const auto clusters = std::make_shared<Clusters>();
  const RunResult result = run(scenario);
  REQUIRE(result.report);
  const Trial now = try_layout(scenario, catalogue, clusters);
  CHECK(now.makespan == result.report->makespan);
  Time before{};
  const std::vector<TriedChange> offers = faster_changes(scenario, result);
  for (const TriedChange& offer : offers) {
    CAPTURE(offer.change);
    const Trial trial = try_layout(changed(scenario, words_of(offer.change)), catalogue, clusters);
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
  const Catalogue catalogue = read_catalogue();
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
    offers += check_agreement(scenario, catalogue);
  }
  CHECK(offers >= 12);
}

}  // namespace penstock::testing
