#include "experiments/plan/changes/change_plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

namespace penstock::testing {
namespace {

const std::string llama_file = PENSTOCK_ROOT "/experiments/scenarios/llama_8b_on_a_dgx_h100.json";

std::string plan_of(const std::vector<std::string>& settings, std::size_t jobs) {
  const Scenario scenario = read_scenario(llama_file, settings);
  const RunResult result = run(scenario, {.training = {1e12, 2}});
  return change_plan_json(scenario, result, plan_changes(scenario, result, {.jobs = jobs})).dump();
}

/// Checks that a pair beats each listed change that is half of it.
void check_halves(const TriedChange& pair, const ChangeList& singles) {
  const auto& both = pair.change.settings;
  for (const TriedChange& half : singles.worth) {
    const auto is_there = [&](const std::string& one) { return std::ranges::count(both, one) > 0; };
    if (family_of(half.change).empty() || !std::ranges::all_of(half.change.settings, is_there)) {
      continue;
    }
    CAPTURE(half.change.text());
    CHECK((is_worth(pair, half) || gain_of(pair, half) >= least_gain));
  }
}

}  // namespace

TEST_CASE("changes that are listed run as a user's and keep their promise, single ones and pairs") {
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{},
        {"/recompute/mode=full", "/parallel/data=2", "/parallel/pipeline=2", "/memory/zero=1"}}) {
    const Scenario scenario = read_scenario(llama_file, settings);
    const RunResult result = run(scenario);
    const ChangePlan plan = plan_changes(scenario, result, {});
    REQUIRE(plan.one.worth.size() > 3);
    REQUIRE(plan.two.worth.size() > 3);
    CHECK(plan.one.tried > plan.one.worth.size());
    for (const ChangeList* list : {&plan.one, &plan.two}) {
      for (const TriedChange& change : list->worth) {
        CAPTURE(change.change.text());
        std::vector<std::string> all = settings;
        all.insert(all.end(), change.change.settings.begin(), change.change.settings.end());
        const RunResult again = run(read_scenario(llama_file, all));
        CHECK(again.report->makespan == change.makespan);
        CHECK(again.report->ranks[index(change.worst)].memory.bytes == change.peak_bytes);
        CHECK(worst_memory(again).word == change.word);
        CHECK(is_worth(change, plan.now));
      }
      for (const TriedChange& change : list->lacking) {
        CHECK(*change.word > *plan.now.word);
        CHECK(gain_of(change, plan.now) >= least_gain);
      }
    }
    for (const TriedChange& pair : plan.two.worth) check_halves(pair, plan.one);
    for (const TriedChange& pair : plan.two.lacking) check_halves(pair, plan.one);
    // A pair beats each of its halves, so also the best single change if that is one of them.
    CHECK(plan.two.worth.front().makespan < plan.one.worth.front().makespan);
  }
}

TEST_CASE("the list does not depend on the number of threads") {
  CHECK(plan_of({}, 1) == plan_of({}, 3));
}

TEST_CASE("what asks least of a user comes first, and the fastest of each effort is listed") {
  const auto change = [](double us, ChangeEffort effort) {
    return TriedChange{.effort = effort, .makespan = from_us(us)};
  };
  const ChangeList list{.worth = {change(1, ChangeEffort::reshards),
                                  change(2, ChangeEffort::reshards),
                                  change(3, ChangeEffort::reshards), change(4, ChangeEffort::flag),
                                  change(5, ChangeEffort::moves_layers)}};
  const auto times = [&](std::size_t best) {
    std::vector<double> all;
    for (const TriedChange& one : cheapest(list, best)) all.push_back(to_us(one.makespan));
    return all;
  };
  CHECK(times(4) == std::vector<double>{4, 5, 1, 2});
  CHECK(times(1) == std::vector<double>{1});
}

TEST_CASE("where a scenario does not fit, changes that make it fit are worth it though slower") {
  const Scenario scenario = read_scenario(llama_file, {"/memory/capacity_bytes=30GB"});
  const RunResult result = run(scenario);
  const ChangePlan plan = plan_changes(scenario, result, {});
  CHECK(plan.now.word == MemoryWord::does_not_fit);
  CHECK(plan.any_fits());
  CHECK(std::ranges::any_of(plan.one.worth, [&](const TriedChange& one) {
    return one.fits() == true && one.makespan > plan.now.makespan;
  }));
}

TEST_CASE("layout --from writes scenarios that run as it says, from another folder too") {
  const Desk desk;
  std::filesystem::create_directories(desk.path("in"));
  std::filesystem::create_directories(desk.path("models"));
  std::filesystem::copy_file(PENSTOCK_ROOT "/experiments/models/llama-3.1-8b.json",
                             desk.path("models/llama-3.1-8b.json"));
  std::filesystem::copy_file(llama_file, desk.path("in/s.json"));
  const std::vector<std::string> asked{"layout",   "--from", "in/s.json", "-o",
                                       "made/out", "--best", "2",         "--json"};
  const ProgramRun made = desk.run(asked);
  CHECK(made.errors.empty());
  CHECK(made.code == 0);
  const auto plan = nlohmann::json::parse(made.output);
  double fastest_us = 1e300;
  for (const char* name : {"1", "2", "3", "4"}) {
    const auto run = desk.json_of({"run", "made/out/change_" + std::string(name) + ".json"});
    const double us = run["makespan_us"].get<double>();
    fastest_us = std::min(fastest_us, us);
    CHECK(us <= plan["now"]["makespan_us"].get<double>());
  }
  CHECK(fastest_us == plan["two_changes"]["worth"][0]["makespan_us"].get<double>());
  CHECK_FALSE(desk.has("made/out/change_5.json"));
  // Its own files may be overwritten.
  CHECK(desk.run(asked).code == 0);
}

TEST_CASE("layouts and changes carry days and cost, and what is more than with the first") {
  const auto plan = nlohmann::json::parse(plan_of({}, 2));
  const auto& now = plan["now"]["training"];
  const auto& best = plan["one_change"]["worth"][0]["training"];
  CHECK(best["days"].get<double>() < now["days"].get<double>());
  CHECK(best["days_more"].get<double>() ==
        doctest::Approx(best["days"].get<double>() - now["days"].get<double>()));
  const auto listed =
      Desk().json_of({"layout", PENSTOCK_ROOT "/experiments/models/llama-3.1-8b.json", "--hardware",
                      "dgx-h100", "--devices", "8", "--only", "/schedule/name=1f1b", "--best", "2",
                      "--tokens", "1e12", "--price", "2"});
  for (const auto& layout : listed["layouts"]) {
    const auto& training = layout["training"];
    const double days = 1e12 / layout["tokens_per_s"].get<double>() / 86'400;
    CHECK(training["days"].get<double>() == doctest::Approx(days));
    CHECK(training["cost"].get<double>() == doctest::Approx(days * 24 * 8 * 2));
    CHECK(training["energy_mwh"].get<double>() == doctest::Approx(days * 24 * 8 * 700e-6));
  }
}

}  // namespace penstock::testing
