#include "experiments/measure/causes/causes.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/explanation/explanation.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/costs/chance.hpp"
#include "sim/engines/events.hpp"
#include "tests/support/finished_run.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/system.hpp"
#include "validate/job/replica_ranks.hpp"

namespace penstock::testing {
namespace {

PricedPlan named_order(const char* schedule, std::uint32_t chunks, std::vector<Layer> stages,
                       std::uint32_t microbatches) {
  const ScheduleEntry& entry = *find_named(schedule_entries(), schedule);
  System system{entry.place(static_cast<std::uint32_t>(stages.size()) / chunks, chunks),
                {},
                std::move(stages),
                delay(1)};
  const ScheduleOptions options{.microbatch_count = microbatches};
  system.schedule = make_schedule(entry, system.placement, options);
  return priced(system);
}

/// A run in which some ranks take longer, recorded.
Recording recorded(PricedPlan priced, const Chance& chance = {}) {
  priced.costs = draw(priced.plan, priced.costs, chance, 0);
  Timeline timeline = timeline_of(simulate(priced));
  return {std::move(priced.plan), std::move(timeline), "recorded"};
}

StepCauses causes_in(const Recording& run, const ExpectedOps* expected = nullptr) {
  return causes_of(run.plan, run.timeline, expected);
}

std::vector<Layer> equal_stages(std::size_t count) {
  return std::vector<Layer>(count, stage_of(10, 20));
}

const Cause* cause_of(const StepCauses& causes, CauseKind kind) {
  const auto found = std::ranges::find(causes.causes, kind, &Cause::kind);
  return found == causes.causes.end() ? nullptr : &*found;
}

Time step_of(const Recording& run) { return makespan(run.plan, run.timeline); }

PricedPlan steady_plan(std::size_t ranks, std::uint32_t microbatches = 8) {
  return named_order("1f1b", 1, equal_stages(ranks), microbatches);
}

/// Alike, each on ranks of its own.
PricedPlan replicas_of(const PricedPlan& one, std::size_t count = 3) {
  return with_replica_ranks(one, std::vector<Costs>(count, one.costs));
}

/// Three replicas of a pipeline of two ranks.
PricedPlan three_replicas() { return replicas_of(steady_plan(2)); }

std::string refusal(const Recording& run, const MeasuredChanges& changes) {
  return refused_with<std::exception>([&] { counterfactual(run, "run.timeline", changes); });
}

}  // namespace

TEST_CASE("causes: the parts of a step give it again, whatever delayed it") {
  CHECK(rc::check([] {
    const RunResult run = random_relaxed_run();
    if (makespan(*run.plan, run.timeline) == Time{}) return;
    const StepCauses causes = causes_of(*run.plan, run.timeline);
    RC_ASSERT(causes.unexplained == Time{});
    Time sum = causes.ideal;
    for (const Cause& cause : causes.causes) sum += cause.cost;
    RC_ASSERT(sum == causes.measured);
  }));
}

TEST_CASE("causes: an even run without delays is ideal") {
  const StepCauses causes = causes_in(recorded(steady_plan(4)));
  CHECK(causes.causes.empty());
  CHECK(causes.ideal == causes.measured);
  CHECK(causes.slowdown() == 1);
  CHECK_FALSE(causes.late);
}

TEST_CASE("causes: uneven stages cost what evening them out gains") {
  const Recording uneven =
      recorded(named_order("1f1b", 1, {stage_of(10, 20), stage_of(16, 32), stage_of(10, 20)}, 6));
  const Recording even =
      recorded(named_order("1f1b", 1, std::vector<Layer>(3, stage_of(12, 24)), 6));
  const StepCauses causes = causes_in(uneven);
  REQUIRE(causes.causes.size() == 1);
  CHECK(causes.causes.front().kind == CauseKind::stages);
  CHECK(causes.ideal == step_of(even));
  CHECK(causes.causes.front().rank == 1U);
}

TEST_CASE("causes: a slow rank is found by its peers, by expectations, or by its other stages") {
  const Chance slow{.stragglers = {{.rank = Rank{1}, .factor = 1.5}}};
  SUBCASE("peers in other replicas") {
    const Recording run = recorded(three_replicas(), slow);
    const StepCauses causes = causes_in(run);
    const Cause* const cause = cause_of(causes, CauseKind::rank);
    REQUIRE(cause != nullptr);
    CHECK(cause->who == std::vector<std::uint32_t>{1});
    CHECK(cause->cost == step_of(run) - step_of(recorded(three_replicas())));
  }
  SUBCASE("stages of one rank each") {
    const PricedPlan plan = steady_plan(4);
    const Recording run = recorded(plan, slow);
    const StepCauses alone = causes_in(run);
    CHECK(cause_of(alone, CauseKind::rank) == nullptr);
    CHECK(cause_of(alone, CauseKind::stages) != nullptr);
    CHECK(says(alone.notes.front(), "--expected"));
    const ExpectedOps expected = expected_ops(recorded(plan));
    const StepCauses causes = causes_in(run, &expected);
    REQUIRE(causes.causes.size() == 1);
    CHECK(causes.causes.front().name == "slow rank 1");
    CHECK(causes.ideal == step_of(recorded(plan)));
  }
  SUBCASE("several stages a rank") {
    const PricedPlan plan = named_order("interleaved-1f1b", 2, equal_stages(8), 8);
    const StepCauses causes = causes_in(recorded(plan, slow));
    REQUIRE(causes.causes.size() == 1);
    CHECK(causes.causes.front().name == "slow rank 1");
    std::vector<Layer> stages = equal_stages(8);
    stages[5] = stage_of(15, 30);
    const StepCauses uneven = causes_in(recorded(named_order("interleaved-1f1b", 2, stages, 8)));
    CHECK(cause_of(uneven, CauseKind::rank) == nullptr);
    CHECK(cause_of(uneven, CauseKind::stages) != nullptr);
  }
}

TEST_CASE("causes: a stage whose microbatches differ says nothing of ranks, the others still do") {
  PricedPlan priced = replicas_of(steady_plan(4));
  const Chance slow{.stragglers = {{.rank = Rank{5}, .factor = 1.3}}};
  priced.costs = draw(priced.plan, priced.costs, slow, 0);
  for (TaskId task = 0; task < priced.plan.tasks(); ++task) {
    const WorkClass& work = priced.plan.class_of(task);
    if (work.resource % 4 != 0 || priced.plan.is_link(work.resource)) continue;
    const std::uint32_t picture = index(priced.plan.microbatch[task]) % 8;
    const std::uint32_t replica = work.resource / 4;
    priced.costs.task_duration[task] += from_us(5.0 * picture * (replica + 1));
  }
  const Timeline timeline = timeline_of(simulate(priced));
  const StepCauses causes = causes_of(priced.plan, timeline);
  REQUIRE(cause_of(causes, CauseKind::rank) != nullptr);
  CHECK(std::ranges::count(causes.causes, CauseKind::rank, &Cause::kind) == 1);
  CHECK(cause_of(causes, CauseKind::rank)->name == "slow rank 5");
  CHECK(cause_of(causes, CauseKind::rank)->proof ==
        "1.3× its peers: B of stage 1 takes 26 µs, elsewhere 20 µs");
  CHECK(cause_of(causes, CauseKind::replicas) == nullptr);
}

TEST_CASE("causes: pictures on every rank make no rank slow whose own stages lie on no other") {
  const RunResult result = run(read_scenario(
      std::string(PENSTOCK_ROOT) + "/experiments/scenarios/qwen3_vl_8b_pictures_that_differ.json"));
  CHECK(cause_of(causes_of(*result.plan, result.timeline), CauseKind::rank) == nullptr);
}

TEST_CASE("causes: a slow rank is shown by what its ops took, and those of its peers") {
  const Chance slow{.stragglers = {{.rank = Rank{1}, .factor = 1.5}}};
  PricedPlan priced = three_replicas();
  priced.costs = draw(priced.plan, priced.costs, slow, 0);
  TaskId longest = no_task;
  for (TaskId task = 0; task < priced.plan.tasks(); ++task) {
    const WorkClass& work = priced.plan.class_of(task);
    if (work.resource == 1 && work.pass == Pass::backward) longest = task;
  }
  REQUIRE(longest != no_task);
  priced.costs.task_duration[longest] += from_us(40);
  const Timeline timeline = timeline_of(simulate(priced));
  const StepCauses causes = causes_of(priced.plan, timeline);
  REQUIRE(cause_of(causes, CauseKind::rank) != nullptr);
  CHECK(cause_of(causes, CauseKind::rank)->op == longest);
  CHECK(cause_of(causes, CauseKind::rank)->proof ==
        "1.5× its peers: B of stage 1 takes 30 µs, elsewhere 20 µs");
}

TEST_CASE("causes: of ops that are as slow as their rank the longest shows it, whole ps aside") {
  const PricedPlan one =
      named_order("1f1b", 1, std::vector<Layer>(4, stage_of(10.000001, 20.000003)), 8);
  const StepCauses causes =
      causes_in(recorded(replicas_of(one), {.stragglers = {{.rank = Rank{1}, .factor = 1.2}}}));
  REQUIRE(cause_of(causes, CauseKind::rank) != nullptr);
  CHECK(cause_of(causes, CauseKind::rank)->proof ==
        "1.2× its peers: B of stage 1 takes 24 µs, elsewhere 20 µs");
}

TEST_CASE("causes: a link is slow where its peers take no time") {
  PricedPlan priced = steady_plan(4);
  const Plan& plan = priced.plan;
  const auto with = [&](Time slow) {
    for (std::size_t i = 0; i < plan.classes.size(); ++i) {
      const std::uint32_t resource = plan.classes[i].resource;
      if (!plan.is_link(resource)) continue;
      priced.costs.latency[i] = plan.link(resource) == Link{Rank{1}, Rank{2}} ? slow : Time{};
    }
    return recorded(priced);
  };
  const Recording run = with(from_us(5));
  const StepCauses causes = causes_in(run);
  const Cause* const link = cause_of(causes, CauseKind::link);
  REQUIRE(link != nullptr);
  CHECK(link->name == "slow link 1>2");
  // What takes no time elsewhere is taken for a microsecond.
  CHECK(link->cost == step_of(run) - step_of(with(from_us(1))));
}

TEST_CASE(
    "causes: in a pipeline of three ranks the links both ways are peers, in one of two none") {
  const auto with_slow = [](std::size_t ranks) {
    return recorded(steady_plan(ranks), {.slow_links = {{Rank{1}, Rank{0}, 30}}});
  };
  const Recording three = with_slow(3);
  const StepCauses causes = causes_in(three);
  const Cause* const link = cause_of(causes, CauseKind::link);
  REQUIRE(link != nullptr);
  CHECK(link->name == "slow link 1>0");
  const Time usual = step_of(recorded(steady_plan(3)));
  CHECK(link->cost == step_of(three) - usual);
  CHECK(step_of(counterfactual(three, "run.timeline", {{"link=1>0"}, {}}).run) == usual);
  const Recording two = with_slow(2);
  CHECK(cause_of(causes_in(two), CauseKind::link) == nullptr);
  CHECK(causes_in(two).notes.back().starts_with("there are too few links"));
  CHECK(says(refusal(two, {{"link=1>0"}, {}}), "link 1>0 has no peers"));
}

TEST_CASE("causes: a replica with more work is no slow rank") {
  const Recording run = recorded(
      three_replicas(),
      {.stragglers = {{.rank = Rank{2}, .factor = 1.5}, {.rank = Rank{3}, .factor = 1.5}}});
  const StepCauses causes = causes_in(run);
  REQUIRE(causes.causes.size() == 1);
  CHECK(causes.causes.front().kind == CauseKind::replicas);
  CHECK(causes.model.replica[1] == doctest::Approx(1.5 / (3.5 / 3)));
}

TEST_CASE("causes: a slow rank beside a slow replica, each with its own factor") {
  for (const std::uint32_t ranks : {2U, 4U}) {
    const PricedPlan one = steady_plan(ranks, 16);
    Chance chance{.jitter = 0.02, .stragglers = {{.rank = Rank{1}, .factor = 1.2}}};
    for (std::uint32_t i = 0; i < ranks; ++i) {
      chance.stragglers.push_back({.rank = Rank{2 * ranks + i}, .factor = 1.3});
    }
    for (chance.seed = 1; chance.seed <= 8; ++chance.seed) {
      CAPTURE(chance.seed);
      const Recording run = recorded(replicas_of(one), chance);
      const OpModel model = causes_in(run).model;
      CHECK(model.rank[1] == doctest::Approx(1.2).epsilon(0.03));
      CHECK(std::ranges::count(model.rank, 1) == 3 * ranks - 1);
      CHECK(model.replica[2] / model.replica[1] == doctest::Approx(1.3).epsilon(0.03));
      CHECK(model.replica[0] / model.replica[1] == doctest::Approx(1).epsilon(0.03));
    }
  }
}

TEST_CASE("causes: ranks that jitter alike are not slow, however short the run") {
  const PricedPlan one = steady_plan(2, 4);
  Chance chance{.jitter = 0.05};
  int named = 0;
  for (chance.seed = 1; chance.seed <= 600; ++chance.seed) {
    for (const std::size_t replicas : {2U, 3U}) {
      const Recording run = recorded(replicas_of(one, replicas), chance);
      named += cause_of(causes_in(run), CauseKind::rank) != nullptr;
    }
  }
  CHECK(named <= 18);  // of 1200; twice as many without the error of their peers
}

TEST_CASE("causes: shorter ops than expected do not make links slow") {
  const ExpectedOps expected = expected_ops(recorded(steady_plan(4)));
  const PricedPlan shorter = named_order("1f1b", 1, std::vector<Layer>(4, stage_of(7, 14)), 8);
  CHECK(cause_of(causes_in(recorded(shorter), &expected), CauseKind::link) == nullptr);
  const Recording slow = recorded(shorter, {.slow_links = {{Rank{1}, Rank{0}, 2}}});
  const StepCauses causes = causes_in(slow, &expected);
  REQUIRE(cause_of(causes, CauseKind::link) != nullptr);
  CHECK(cause_of(causes, CauseKind::link)->name == "slow link 1>0");
}

// Where microbatches differ, a plan has work classes for each of them.
TEST_CASE(
    "causes: documents of different lengths are uneven microbatches, and cost what they lose") {
  const RunResult result = run(read_scenario(
      std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json",
      {R"(/batch={"lengths":{"distribution":"uniform","min":200,"max":1000},"tokens":1000})",
       "/hardware/bandwidth_bytes_per_s=1e15", "/hardware/latency_us=0"}));
  REQUIRE(result.batch);
  const StepCauses causes = causes_of(*result.plan, result.timeline);
  const Cause* uneven = cause_of(causes, CauseKind::microbatches);
  REQUIRE(uneven != nullptr);
  CHECK(to_us(uneven->cost) ==
        doctest::Approx(to_us(result.batch->step - result.batch->equal)).epsilon(1e-4));
  CHECK(to_us(causes.ideal) == doctest::Approx(to_us(result.batch->equal)).epsilon(1e-4));
}

TEST_CASE("causes: more slow ranks than have a row of their own are one row") {
  Chance slow;
  for (std::uint32_t i = 0; i < 20; ++i) slow.stragglers.push_back({Rank{i * 3}, 1.2 + i * 0.01});
  const Recording run = recorded(replicas_of(steady_plan(2, 4), 40), slow);
  const StepCauses causes = causes_in(run);
  CHECK(causes.causes.size() == 8);
  CHECK(causes.causes.front().name == "slow rank 57");
  const auto grouped = std::ranges::find(causes.causes, "13 slow ranks", &Cause::name);
  CHECK(grouped != causes.causes.end());
}

TEST_CASE("causes: of a thousand ranks, the slow ones and the first late one are named") {
  const PricedPlan one = steady_plan(8, 16);
  std::vector<Costs> replicas;
  Chance chance{.jitter = 0.02};
  for (chance.replica = 0; chance.replica < 128; ++chance.replica) {
    replicas.push_back(draw(one.plan, one.costs, chance, 0));
  }
  const Recording run = recorded(
      with_replica_ranks(one, replicas),
      {.stragglers = {{.rank = Rank{138}, .factor = 1.3}, {.rank = Rank{797}, .factor = 1.6}}});
  const StepCauses causes = causes_in(run);
  REQUIRE(causes.causes.size() >= 2);
  CHECK(causes.causes[0].name == "slow rank 797");
  CHECK(causes.causes[1].name == "slow rank 138");
  CHECK(causes.model.groups.pipelines == 128);
  CHECK(causes.model.groups.positions == 8);
  const auto slowest = std::ranges::max_element(causes.slowdowns.ranks);
  CHECK(slowest - causes.slowdowns.ranks.begin() == 797);
  CHECK(causes.slowdowns.explained > 0.9);
  REQUIRE(causes.late);
  CHECK(causes.late->rank == 138);
  CHECK(std::ranges::all_of(causes.late->waiting,
                            [&](const DelayedRank& waiting) { return waiting.rank / 8 == 17; }));
}

TEST_CASE("causes: the first late rank, and those that waited for it") {
  const PricedPlan plan = steady_plan(4);
  const ExpectedOps expected = expected_ops(recorded(plan));
  const Recording run =
      recorded(plan, {.stragglers = {{.rank = Rank{2}, .factor = 2, .from = Microbatch{1}}}});
  const StepCauses causes = causes_in(run, &expected);
  REQUIRE(causes.late);
  CHECK(causes.late->rank == 2);
  CHECK(task_text(run.plan, causes.late->op) == "2F1");
  CHECK(causes.late->excess == from_us(10));
  CHECK(causes.late->waiting.size() == 3);
  CHECK(causes.late->cost == step_of(run) - step_of(recorded(plan)));
}

TEST_CASE("causes: intervals come from iterations") {
  std::vector<Timeline> iterations;
  const PricedPlan plan = steady_plan(4);
  const ExpectedOps expected = expected_ops(recorded(plan));
  for (const double factor : {1.5, 1.6, 1.7}) {
    iterations.push_back(
        recorded(plan, {.stragglers = {{.rank = Rank{0}, .factor = factor}}}).timeline);
  }
  const StepCauses causes = causes_of(plan.plan, iterations.front(), &expected, iterations);
  REQUIRE(causes.causes.size() == 1);
  REQUIRE(causes.causes.front().interval);
  CHECK(causes.causes.front().interval->low == to_us(causes.causes.front().cost));
  CHECK(causes.causes.front().interval->high > 1.3 * causes.causes.front().interval->low);
}

TEST_CASE("causes: a run without a cause is the run that never had it") {
  const Recording run =
      recorded(three_replicas(), {.stragglers = {{.rank = Rank{1}, .factor = 1.5}}});
  const Time clean = step_of(recorded(three_replicas()));
  const Counterfactual without = counterfactual(run, "run.timeline", {{"rank=1"}, {}});
  CHECK(without.changed == clean);
  CHECK(step_of(without.run) == clean);
  CHECK(counterfactual(run, "", {{"ranks"}, {}}).changed == clean);
  CHECK(counterfactual(run, "", {{"gaps"}, {}}).changed == step_of(run));
}

TEST_CASE("causes: settings of a measured run change chance and the host alone") {
  const PricedPlan plan = steady_plan(3, 4);
  const Recording run = recorded(plan);
  const Chance slow{.stragglers = {{.rank = Rank{2}, .factor = 2}}};
  const auto with = [&](const std::string& setting) {
    return counterfactual(run, "run.timeline", {{}, {setting}}).changed;
  };
  CHECK(with(R"(/chance/stragglers=[{"rank": 2, "factor": 2}])") == step_of(recorded(plan, slow)));
  CHECK(with("/overheads/launch_us=7") == step_of(run) + from_us(7));
  CHECK(says(refusal(run, {{}, {"/schedule/name=zb-h1"}}), "trace --scenario"));
  CHECK(says(refusal(run, {{}, {"/chance/stragglers=[{\"rank\": 9, \"factor\": 2}]"}}),
             "unknown rank 9"));
  CHECK(says(refusal(run, {{"rank=1"}, {}}), "--expected"));
  CHECK(says(refusal(run, {{"rank=3"}, {}}), "ranks are 0 to 2"));
  CHECK(says(refusal(run, {{"weather"}, {}}), "expected rank=N"));
  CHECK(says(refusal(run, {{"link=0>2"}, {}}), "its first is 0>1"));
}

}  // namespace penstock::testing
