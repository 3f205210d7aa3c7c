#include "experiments/run/changes/scenario_changes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "experiments/run/changes/tried_changes.hpp"

namespace penstock::testing {
namespace {

const std::string folder = PENSTOCK_ROOT "/experiments/scenarios/";

Scenario llama(const std::vector<std::string>& settings = {}) {
  return read_scenario(folder + "llama_8b_on_a_dgx_h100.json", settings);
}

bool offers(const std::vector<ScenarioChange>& changes, const std::string& setting) {
  return std::ranges::any_of(changes, [&](const ScenarioChange& change) {
    return std::ranges::count(change.settings, setting) > 0;
  });
}

std::vector<ScenarioChange> changes_of(const Scenario& scenario) {
  return penstock::changes_of(scenario, run(scenario));
}

}  // namespace

TEST_CASE("cuts, recomputation, overlap, ZeRO, degrees, microbatches and orders are all changes") {
  const auto changes = changes_of(llama({"/parallel/overlap_tensor=false", "/parallel/data=1"}));
  for (const char* setting :
       {"/partition/name=simulated", "/partition/name=balanced", "/recompute/mode=full",
        R"(/recompute={"mode":"selective","operators":["mlp_activation"]})",
        R"(/recompute={"mode":"full","layers":2})", "/schedule/overlap=fused",
        "/parallel/overlap_tensor=true", "/parallel/tensor=4", "/parallel/context=2",
        "/parallel/data=2", "/model/microbatch=2", "/parallel/chunks=2", "/schedule/name=zb-h1"}) {
    CAPTURE(setting);
    CHECK(offers(changes, setting));
  }
  // There are no replicas and no experts; the cut is even already.
  for (const char* setting : {"/memory/zero=1", "/parallel/expert=2", "/partition/name=even"}) {
    CAPTURE(setting);
    CHECK(!offers(changes, setting));
  }
}

TEST_CASE("offloading is offered by activation and by layer, and leaving it out where it is") {
  const auto offloads_of = [](const std::vector<std::string>& settings) {
    const Scenario scenario = llama(settings);
    return penstock::changes_of(scenario, run(scenario), {.degrees = false, .offloads = true});
  };
  for (const char* setting :
       {"/offload/keep=2", "/offload/keep=1", "/offload/layers=4", "/offload/layers=8"}) {
    CAPTURE(setting);
    CHECK(offers(offloads_of({}), setting));
  }
  const auto changes = offloads_of({R"(/offload={"layers":4})"});
  CHECK(!offers(changes, "/offload/layers=8"));
  CHECK(std::ranges::any_of(changes, [](const ScenarioChange& change) {
    return std::ranges::count(change.left_out, "offload") > 0;
  }));
}

TEST_CASE("a new tensor group is offered with sequence parallelism") {
  for (const ScenarioChange& change :
       changes_of(llama({"/parallel/tensor=1", "/parallel/sequence=false"}))) {
    if (std::ranges::count(change.settings, "/parallel/tensor=2") == 0) continue;
    CAPTURE(change.text());
    CHECK(std::ranges::count(change.settings, "/parallel/sequence=true") == 1);
  }
}

TEST_CASE("a section with keys of another mode or partitioner is replaced as a whole") {
  const auto changes = changes_of(llama(
      {R"(/recompute={"mode":"full","layers":4})", R"(/partition={"name":"simulated","seed":3})"}));
  CHECK(offers(changes, R"(/recompute={"mode":"none"})"));
  CHECK(offers(changes, R"(/partition={"name":"balanced"})"));
  CHECK(!offers(changes, "/recompute/mode=none"));
  CHECK(!offers(changes, R"(/recompute={"mode":"full","layers":4})"));
}

TEST_CASE("operators are added to those that are recomputed, or taken from them") {
  const auto changes =
      changes_of(llama({R"(/recompute={"mode":"selective","operators":["norm","mlp"]})"}));
  CHECK(offers(changes, R"(/recompute={"mode":"selective","operators":["mlp"]})"));
  CHECK(offers(changes, R"(/recompute={"mode":"selective","operators":["norm"]})"));
  CHECK(offers(changes,
               R"(/recompute={"mode":"selective","operators":["norm","mlp","mlp_activation"]})"));
}

TEST_CASE("two changes go together if they state different keys") {
  const ScenarioChange cut{{"/partition/name=simulated"}}, mode{{"/recompute/mode=full"}};
  const ScenarioChange whole{{R"(/recompute={"mode":"none"})"}};
  CHECK(are_apart(cut, mode));
  CHECK(!are_apart(mode, whole));
  CHECK(!are_apart(whole, mode));
  CHECK(are_apart({{"/parallel/expert=2"}}, {{"/parallel/expert_tensor=1"}}));
  CHECK(both_of(cut, mode).options() ==
        "--set '/partition/name=simulated' --set '/recompute/mode=full'");
}

TEST_CASE("a change is a flag unless layers move or degrees and ZeRO levels differ") {
  const Scenario scenario = llama({"/parallel/pipeline=2", "/parallel/data=2"});
  const RunResult result = run(scenario);
  const auto effort = [&](const std::vector<std::string>& settings) {
    const auto tried = try_changes(scenario, result, {{settings}});
    REQUIRE(tried.changes.size() == 1);
    return tried.changes.front().effort;
  };
  CHECK(effort({"/recompute/mode=full"}) == ChangeEffort::flag);
  CHECK(effort({"/schedule/name=zb-h1"}) == ChangeEffort::flag);
  CHECK(effort({"/partition/name=balanced"}) == ChangeEffort::moves_layers);
  CHECK(effort({"/schedule/name=zb-v"}) == ChangeEffort::moves_layers);
  CHECK(effort({"/memory/zero=1"}) == ChangeEffort::reshards);
  CHECK(effort({"/parallel/tensor=1", "/parallel/pipeline=4", "/parallel/sequence=false"}) ==
        ChangeEffort::reshards);
}

TEST_CASE("no change proposes a ZeRO level that has nothing to shard over") {
  const Scenario scenario = llama({"/parallel/pipeline=2", "/parallel/data=2"});
  const RunResult result = run(scenario);
  const std::vector<std::string> one_replica{"/parallel/data=1", "/parallel/pipeline=4",
                                             "/schedule/microbatches=32"};
  std::vector<std::string> sharded = one_replica;
  sharded.emplace_back("/memory/zero=2");
  CHECK(try_changes(scenario, result, {{one_replica}}).changes.size() == 1);
  CHECK(try_changes(scenario, result, {{sharded}}).changes.empty());
}

TEST_CASE("a gain below half a per cent is none, and one that breaks the memory is not worth it") {
  const TriedChange now{.word = MemoryWord::fits, .makespan = from_us(1000)};
  const auto worth = [&](double us, MemoryWord word) {
    return is_worth({.word = word, .makespan = from_us(us)}, now);
  };
  CHECK(worth(995, MemoryWord::fits));
  CHECK(!worth(996, MemoryWord::fits));
  CHECK(!worth(500, MemoryWord::may_fit));
  CHECK(!worth(500, MemoryWord::does_not_fit));
  const TriedChange full{.word = MemoryWord::does_not_fit, .makespan = from_us(1000)};
  CHECK(is_worth({.word = MemoryWord::fits, .makespan = from_us(2000)}, full));
  CHECK(!is_worth({.word = MemoryWord::fits, .makespan = from_us(2001)}, full));
}

TEST_CASE("where nothing fits, a faster change that needs more memory is not worth it") {
  const auto needs = [](std::uint64_t bytes, MemoryWord word, double us) {
    return TriedChange{.peak_bytes = bytes, .word = word, .makespan = from_us(us)};
  };
  const TriedChange full = needs(40, MemoryWord::does_not_fit, 1000);
  CHECK(is_worth(needs(40, MemoryWord::does_not_fit, 900), full));
  CHECK(!is_worth(needs(41, MemoryWord::does_not_fit, 900), full));
  CHECK(is_worth(needs(41, MemoryWord::fits, 900), needs(40, MemoryWord::fits, 1000)));
}

TEST_CASE("a change on documents is worth what equal draws differ by, if that is above chance") {
  const auto drawn = [](std::vector<double> all_us) {
    TriedChange one{.word = MemoryWord::fits};
    double sum = 0;
    for (const double us : all_us) {
      one.draws.push_back(from_us(us));
      sum += us;
    }
    one.makespan = from_us(sum / double(all_us.size()));
    return one;
  };
  // Draws differ by more than the change saves, but each saves 10 to 12.
  const TriedChange now = drawn({900, 1000, 1100});
  CHECK(is_worth(drawn({890, 988, 1089}), now));
  const auto within = *gain_within(drawn({890, 988, 1089}), now);
  // The mean of 10, 12, 11 is 11, with a standard deviation of 1; t is 4.303 for three draws.
  CHECK(within.second - within.first == doctest::Approx(2 * 4.303 / std::sqrt(3.0) / 1000));
  CHECK(within.first + within.second == doctest::Approx(2 * 0.011));
  // The same mean, from one draw that gains and two that lose.
  CHECK(!is_worth(drawn({905, 1005, 1057}), now));
  CHECK(gain_text(drawn({890, 988, 1089}), now) == "-1.1 % ± 0.2");
  CHECK(!gain_within(now, {.makespan = from_us(1000)}));
}

TEST_CASE("changes of a batch of documents are judged by many draws, one by one the same") {
  const Scenario scenario = read_scenario(folder + "documents_on_eight_dgx_h100.json",
                                          {"/parallel/data=1", "/schedule/microbatches=4"});
  const RunResult result = run(scenario);
  const TriedChange now = without_change(scenario, result);
  REQUIRE(now.draws.size() == 16);
  CHECK(now.draws.front() == result.report->makespan);
  const auto tried = try_changes(scenario, result, {{{"/batch/seed=1"}}});
  REQUIRE(tried.changes.size() == 1);
  CHECK(tried.changes.front().draws == now.draws);
  CHECK(try_changes(scenario, result, {{{"/batch/seed=1"}}}, {.over_draws = false})
            .changes.front()
            .draws.empty());
}

// What loses more than 5 % in the first draw is not run over the others.
TEST_CASE(
    "of a batch of documents, the changes that gain are found as if all were run over all draws") {
  const Scenario scenario = read_scenario(folder + "documents_on_eight_dgx_h100.json",
                                          {"/parallel/data=1", "/schedule/microbatches=8"});
  const RunResult result = run(scenario);
  const FasterChanges faster = faster_changes(scenario, result);
  auto all = try_changes(scenario, result, changes_of(scenario, result)).changes;
  std::erase_if(all, [&](const TriedChange& change) {
    return change.fits() == false || !is_faster(change, faster.now);
  });
  leave_out_repeats(all, faster.now);
  all = best_of_families(std::move(all));
  REQUIRE(!all.empty());
  all.resize(std::min<std::size_t>(all.size(), 10));
  REQUIRE(faster.changes.size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(faster.changes[i].change.text() == all[i].change.text());
    CHECK(faster.changes[i].draws == all[i].draws);
  }
}

TEST_CASE("an encoder before a decoder may go to the ranks of the pipeline, and back") {
  const Scenario plain = read_scenario(folder + "qwen3_vl_8b_on_a_dgx_h100.json");
  CHECK(offers(changes_of(plain), R"(/modules/vision={"devices":"shared","order":"bubbles"})"));
  CHECK(!offers(changes_of(llama()), R"(/modules/vision={"devices":"shared","order":"bubbles"})"));
  const Scenario shared = read_scenario(folder + "qwen3_vl_8b_encoder_on_shared_ranks.json");
  const auto changes = changes_of(shared);
  CHECK(offers(changes, "/modules/vision/order=first"));
  CHECK(offers(changes, "/modules/vision/tensor=2"));
  CHECK(std::ranges::any_of(changes, [](const ScenarioChange& change) {
    return change.left_out == std::vector<std::string>{"modules"} &&
           change.options() == "leave /modules out of the file";
  }));
}

}  // namespace penstock::testing
