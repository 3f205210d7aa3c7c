#include "experiments/run/chain.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

Scenario first_run(const std::vector<std::string>& settings = {}) {
  return read_scenario(PENSTOCK_ROOT "/experiments/scenarios/first_run.json", settings);
}

Simulated simulated(Chain& chain, const Scenario& scenario) {
  Layout layout = chain.layout(scenario);
  return std::get<Simulated>(chain.simulate(layout));
}

TEST_CASE("memo: keeps the results last asked for, by number and by size") {
  Memo<std::string, const int> memo(2, 10);
  int made = 0;
  const auto get = [&](const char* key) { return *memo.get(key, [&] { return ++made; }); };
  CHECK(get("a") == 1);
  CHECK(get("b") == 2);
  CHECK(get("a") == 1);  // now "b" was asked for longest ago
  CHECK(get("c") == 3);
  CHECK(memo.count() == 2);
  CHECK(memo.find("b") == nullptr);
  CHECK(get("a") == 1);
  memo.keep("large", std::make_shared<const int>(7), 10);
  CHECK(memo.count() == 1);
  memo.keep("too large", std::make_shared<const int>(8), 11);
  CHECK(memo.find("too large") == nullptr);
  memo.clear();
  CHECK(memo.count() == 0);
  CHECK(memo.find("large") == nullptr);
}

TEST_CASE("memo: keys of equal hash have results of their own") {
  PlanInputs one = plan_inputs(settle(first_run()));
  PlanInputs other = one;
  auto& row = other.order.on(Rank{0});
  row.back().with_next = true;  // no part of the hash
  REQUIRE(hash_of(one) == hash_of(other));
  Memo<PlanInputs, const int> memo(4);
  memo.keep(one, std::make_shared<const int>(1));
  CHECK(memo.find(other) == nullptr);
  CHECK(*memo.find(one) == 1);
}

TEST_CASE("chain: each field of a plan's inputs makes another key") {
  const PlanInputs inputs = plan_inputs(settle(first_run()));
  const auto differs = [&](auto change) {
    PlanInputs other = inputs;
    change(other);
    return !(other == inputs);
  };
  CHECK(!differs([](PlanInputs&) {}));
  CHECK(differs([](PlanInputs& one) { one.order.on(Rank{0}).pop_back(); }));
  CHECK(differs([](PlanInputs& one) { one.order.set_weights({WeightUse::newest, 0}); }));
  CHECK(differs([](PlanInputs& one) { one.placement = Placement::vee(4, 2); }));
  CHECK(differs([](PlanInputs& one) { one.overlap = Overlap::fused; }));
  CHECK(differs([](PlanInputs& one) { one.extras.recomputing.stages = {true}; }));
  CHECK(differs([](PlanInputs& one) { one.extras.recomputing.early ^= true; }));
  CHECK(differs([](PlanInputs& one) { one.extras.recomputing.except_last ^= true; }));
  CHECK(differs([](PlanInputs& one) { one.extras.recomputing.microbatches = {{1}}; }));
  CHECK(differs([](PlanInputs& one) { one.extras.tail.reduces = {true}; }));
  CHECK(differs([](PlanInputs& one) { one.extras.tail.early = {true}; }));
  CHECK(differs([](PlanInputs& one) { one.extras.tail.updates ^= true; }));
  CHECK(differs([](PlanInputs& one) { one.extras.tail.gathers ^= true; }));
  CHECK(differs([](PlanInputs& one) { one.extras.tail.summing = Summing::in_passes; }));
  CHECK(differs([](PlanInputs& one) { one.extras.tail.ties ^= true; }));
  CHECK(differs([](PlanInputs& one) { one.extras.tail.across_ranks ^= true; }));
  CHECK(differs([](PlanInputs& one) { one.extras.holds[0] ^= true; }));
}

TEST_CASE("chain: a plan serves again where only costs differ, with the result of a fresh chain") {
  Chain chain;
  for (const char* setting :
       {"/hardware/latency_us=1", "/hardware/latency_us=700", "/model/stages/2/forward_us=1500",
        "/chance/jitter=0.2", "/overheads/launch_us=30"}) {
    CAPTURE(setting);
    const Scenario scenario = first_run({setting});
    Chain fresh;
    const Simulated own = simulated(chain, scenario);
    const Simulated anew = simulated(fresh, scenario);
    CHECK(own.timeline == anew.timeline);
    CHECK(own.priced.plan.schedule == anew.priced.plan.schedule);
    CHECK(plan_hash(own.priced.plan) == plan_hash(anew.priced.plan));
  }
  CHECK(chain.known_plans() == 1);
  CHECK(chain.knows_plan(plan_inputs(settle(first_run()))));
  CHECK(!chain.knows_plan(plan_inputs(settle(first_run({"/schedule/microbatches=5"})))));
}

TEST_CASE("chain: keeps no plans beyond its bound") {
  Chain none(nullptr, 0);
  simulated(none, first_run());
  simulated(none, first_run());
  CHECK(none.known_plans() == 0);
}

TEST_CASE("chain: a scenario from a document is that which is read alone") {
  Chain chain;
  const Scenario alone = first_run({"/codec/stash/name=bfp", "/codec/stash/bits=4"});
  for (int time = 0; time < 2; ++time) {
    const Scenario read = chain.scenario(*alone.document, alone.source);
    CHECK(*read.document == *alone.document);
    CHECK(encoding_text(read.codec.stash) == encoding_text(alone.codec.stash));
  }
}

TEST_CASE("chain: an error starts with the layout's file") {
  Chain chain;
  Layout layout = chain.layout(first_run({"/memory/policy=stall"}));
  CHECK(says(refused_with<InputError>([&] { (void)chain.simulate(layout); }), "first_run.json"));
}

}  // namespace
}  // namespace penstock::testing
