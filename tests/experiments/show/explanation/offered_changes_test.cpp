#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/program/pages/run_page.hpp"
#include "experiments/run/changes/tried_changes.hpp"
#include "experiments/show/explanation/explanation.hpp"
#include "experiments/show/explanation/memory_explanation.hpp"
#include "experiments/show/explanation/sensitivity.hpp"
#include "sim/base/error.hpp"
#include "tests/support/random_scenario.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

/// The scenario that a user has with an offered change.
Scenario as_offered(const Scenario& scenario, const ScenarioChange& offer) {
  nlohmann::json document = *scenario.document;
  for (const std::string& section : offer.left_out) document.erase(section);
  return scenario_from(std::move(document), scenario.source, offer.settings);
}

void check_offer(const Scenario& scenario, const TriedChange& offer) {
  CAPTURE(offer.change.text());
  const RunResult result = run(as_offered(scenario, offer.change));
  REQUIRE(result.report);
  CHECK(highest_peak(*result.report, result.batch).bytes == offer.peak_bytes);
  // Of a batch of documents, a run shows the first draw.
  CHECK(result.report->makespan == (offer.draws.empty() ? offer.makespan : offer.draws.front()));
  CHECK(offer.word == worst_memory(result).word);
}

/// Checks all that `explain --memory` offers for a scenario. Returns how much that is.
std::size_t check_memory_offers(const Scenario& scenario) {
  const RunResult result = run_for_memory(scenario);
  if (!result.report) return 0;
  const MemoryExplanation explanation = explain_memory(scenario, result);
  for (const TriedChange& offer : explanation.changes) check_offer(scenario, offer);
  return explanation.changes.size();
}

/// Checks the changes that `explain` offers. Returns how many they are.
std::size_t check_step_offers(const Scenario& scenario) {
  const RunResult result = run(scenario);
  if (!result.report || result.plan->tasks() > 20'000) return 0;
  const FasterChanges faster = faster_changes(scenario, result);
  CHECK(result.report->makespan ==
        (faster.now.draws.empty() ? faster.now.makespan : faster.now.draws.front()));
  for (const TriedChange& offer : faster.changes) {
    check_offer(scenario, offer);
    CHECK(to_us(offer.makespan) <= (1 - least_gain) * to_us(faster.now.makespan));
    CHECK(offer.fits() != false);
  }
  return faster.changes.size();
}

/// Whether a stage's times stand in the document, for nothing but its passes, and these take
/// nothing else: with ZeRO-2 and -3 they may wait for collectives of their own.
bool states_times_of_stages(const Layout& layout) {
  return layout.rule != nullptr && layout.rule->copies == 1 && !layout.codec.encodes() &&
         layout.chance.changes_nothing() && !layout.overheads.optimizer_us &&
         layout.memory.zero < 2 && layout.offloaded_layers == 0;
}

/// The scenario with all times of a stage 1 % shorter.
Scenario with_faster_stage(const Scenario& scenario, const std::string& stage) {
  const auto place = nlohmann::json::json_pointer("/model/stages") / std::stoul(stage);
  std::vector<std::string> settings;
  for (const auto& [key, value] : scenario.document->at(place).items()) {
    if (!key.ends_with("_us")) continue;
    settings.push_back(fmt::format("{}={}", (place / key).to_string(), 0.99 * value.get<double>()));
  }
  return scenario_from(*scenario.document, scenario.source, settings);
}

/// Checks what `explain` says that 1 % less of a stage would gain. Returns for how many stages.
std::size_t check_stage_gains(const Scenario& scenario) {
  if (!scenario.model.stages_given) return 0;
  const RunResult result = run(scenario);
  if (!result.report || !states_times_of_stages(result.layout)) return 0;
  // A shorter forward hides less of the gathers of new weights, which costs of the run hold.
  if (scenario.parallel.overlap_gathers.value_or(false)) return 0;
  // An order that was found by durations follows them.
  if (scenario.module && scenario.module->order == ModuleOrder::bubbles) return 0;
  std::size_t checked = 0;
  for (const Sensitivity& one : sensitivities(result, SIZE_MAX)) {
    if (!one.what.starts_with("stage ") || !one.gain) continue;
    CAPTURE(one.what);
    const RunResult faster = run(with_faster_stage(scenario, one.what.substr(6)));
    REQUIRE(faster.report);
    CHECK(result.report->makespan - faster.report->makespan == *one.gain);
    ++checked;
  }
  return checked;
}

/// A random scenario; nothing where it is refused as it is.
std::optional<Scenario> accepted(const nlohmann::json& document) {
  try {
    Scenario scenario = scenario_from(document, "random.json");
    run(scenario);
    return scenario;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Calls `check(scenario)` for so many random scenarios.
template <class Check>
void for_random_scenarios(std::size_t count, Check check) {
  std::uint64_t seed = 0;
  for (std::size_t runs = 0; runs < count; ++seed) {
    REQUIRE(seed < 10 * count);
    const nlohmann::json document = random_scenario(seed);
    const std::optional<Scenario> scenario = accepted(document);
    if (!scenario) continue;
    CAPTURE(document.dump());
    check(*scenario);
    ++runs;
  }
}

/// GPipe holds 8 activations of 100 bytes on each rank; a rank has room for as many bytes as given.
Scenario with_room_for(int bytes) {
  const std::string stage =
      R"({"forward_us": 10, "backward_input_us": 10, "backward_weight_us": 10, "stash_bytes": 100})";
  return parse_scenario(fmt::format(R"({{"model": {{"stages": [{0}, {0}, {0}, {0}]}},
                      "hardware": {{"name": "ideal", "devices": 4, "latency_us": 1}},
                      "schedule": {{"name": "gpipe", "microbatches": 8}},
                      "memory": {{"capacity_bytes": {1}}}}})",
                                    stage, bytes),
                        "s.json");
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("what explain offers for bundled scenarios runs as a user's and keeps its promise") {
    std::size_t offers = 0, faster = 0, gains = 0;
    for (const char* folder : {"/experiments/scenarios", "/tests/scenarios"}) {
      for (const std::string& path : paths_in(std::string(PENSTOCK_ROOT) + folder, ".json")) {
        CAPTURE(path);
        const Scenario scenario = read_scenario(path);
        offers += check_memory_offers(scenario);
        faster += check_step_offers(scenario);
        gains += check_stage_gains(scenario);
      }
    }
    CHECK(offers > 100);
    CHECK(faster > 100);
    CHECK(gains > 50);
  }

  TEST_CASE("what explain offers for random scenarios runs as a user's and keeps its promise") {
    std::size_t offers = 0, gains = 0;
    for_random_scenarios(500, [&](const Scenario& scenario) {
      offers += check_memory_offers(scenario);
      gains += check_stage_gains(scenario);
    });
    CHECK(offers > 1000);
    CHECK(gains > 100);
  }
}

TEST_CASE("what a section refuses is not offered") {
  // Bytes gathered at a time go with ZeRO-3 alone.
  const Scenario scenario = scenario_from(nlohmann::json::parse(R"({
        "model": { "stages": [ {"forward_us": 1, "backward_us": 2, "parameter_bytes": 1000} ] },
        "parallel": { "data": 4 },
        "memory": { "zero": 3, "gathered_bytes": 1000, "optimizer": "adam" },
        "schedule": { "name": "1f1b", "microbatches": 2 } })"),
                                          "s.json");
  const RunResult result = run_for_memory(scenario);
  for (const TriedChange& offer : explain_memory(scenario, result).changes) {
    CAPTURE(offer.change.text());
    CHECK(!says(offer.change.text(), "/memory/zero"));
  }
}

TEST_CASE("explain: a run that does not fit is told so first, with what makes it fit") {
  const Scenario scenario = with_room_for(500);
  const RunResult result = run(scenario);
  const Explanation explanation = explain(scenario, result);
  REQUIRE(!explanation.changes.empty());
  CHECK(explanation.changes.front().change.settings != std::vector<std::string>{});
  CHECK(explanation.advice ==
        std::vector{"it does not fit, rank 0 needs 800 B, 300 B too much: use " +
                    explanation.changes.front().change.options()});
  for (const TriedChange& change : explanation.changes) {
    check_offer(scenario, change);
    CHECK(change.fits() == true);
  }
  const std::string text = explanation_text(result, explanation);
  const std::size_t found = text.find("\n\nfinding: out of memory: 4 of 4 ranks"),
                    path = text.find("\n\ncritical path\n");
  CHECK(found < path);
  CHECK(says(text, "\nchanges that make it fit, each"));
  CHECK(says(run_page(scenario, result).summary, "\nfinding: out of memory: 4"));
  CHECK(run_page(scenario, result).texts.front().text == text);
}

TEST_CASE("explain: where no change makes a run fit, those listed reduce its peak") {
  const Scenario scenario = with_room_for(1);
  const RunResult result = run(scenario);
  const Explanation explanation = explain(scenario, result);
  REQUIRE(explanation.advice.size() == 1);
  CHECK(explanation.advice.front().ends_with(
      "makes it fit; use more devices, or several changes together"));
  REQUIRE(!explanation.changes.empty());
  for (const TriedChange& change : explanation.changes) CHECK(change.peak_bytes < 800);
  CHECK(says(explanation_text(result, explanation),
             "\nchanges that reduce the peak, though none makes it fit, each"));
}

}  // namespace penstock::testing
