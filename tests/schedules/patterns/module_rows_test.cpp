#include "schedules/patterns/module_rows.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/engines/events.hpp"
#include "sim/plan/lower.hpp"
#include "tests/support/naive_run.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/ruled_system.hpp"

namespace penstock::testing {
namespace {

/// A pipeline with a module in front.
struct ModulePipeline {
  ModuleRows module;
  System system;
};

ModulePipeline joined(const System& pipeline, const ModuleRows& module, const Layer& stage) {
  System system = pipeline;
  system.placement = with_module(pipeline.placement, module);
  system.schedule = with_module(pipeline.schedule, pipeline.placement, module);
  system.stages.insert(system.stages.begin(), module.stages, stage);
  return {module, system};
}

/// Frozen modules have faults that `lowered` refuses.
PricedPlan priced_plan(const System& system) {
  auto plan = lower(system.schedule, system.placement);
  REQUIRE(std::holds_alternative<Plan>(plan));
  PricedPlan all{.plan = std::get<Plan>(std::move(plan)), .costs = {}};
  all.costs = priced(system, all.plan);
  return all;
}

Time makespan_of(const System& system) {
  const PricedPlan all = priced_plan(system);
  return makespan(all.plan, timeline_of(simulate(all)));
}

double us(const System& system) { return to_us(makespan_of(system)); }

std::vector<StageDurations> times_of(const System& system) {
  std::vector<StageDurations> all;
  for (const Layer& stage : system.stages) {
    StageDurations& times = all.emplace_back();
    times.passes[static_cast<std::size_t>(Pass::forward)] = *stage.forward_us;
    times.passes[static_cast<std::size_t>(Pass::backward)] = *stage.backward_us;
  }
  return all;
}

std::uint32_t number_from(std::uint32_t first, std::uint32_t last) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(first, last + 1));
}

const char* random_rule() { return *rc::gen::element("1f1b", "gpipe", "eager-1f1b"); }

Layer random_stage() { return stage_of(number_from(1, 9), number_from(1, 9)); }

System random_pipeline() {
  const Sizes sizes{number_from(1, 5), 1, number_from(1, 9)};
  System system = system_of(random_rule(), sizes, stage_of(1, 2));
  for (Layer& stage : system.stages) {
    stage = random_stage();
    stage.activation_bytes = number_from(0, 3);
  }
  system.hardware = link(number_from(0, 3), 1e6);
  return system;
}

ModuleRows random_module(const System& pipeline) {
  ModuleRows module{.shares_ranks = *rc::gen::arbitrary<bool>(),
                    .frozen = *rc::gen::arbitrary<bool>()};
  module.stages = module.shares_ranks ? 1 : number_from(1, 3);
  module.ranks_in_turn = module.shares_ranks ? pipeline.placement.ranks() : number_from(1, 3);
  return module;
}

std::string placement_refusal(const System& pipeline) {
  return refused_with<RuleError>([&] { with_module(pipeline.placement, {}); });
}

}  // namespace

TEST_CASE("a module of stages like the others is the beginning of a longer pipeline") {
  const Layer stage = stage_of(1, 2);
  for (const std::uint32_t stages : {1U, 2U, 3U}) {
    for (const char* name : {"1f1b", "gpipe"}) {
      CAPTURE(stages);
      CAPTURE(name);
      const auto [module, system] =
          joined(system_of(name, {4, 1, 8}, stage), {.stages = stages}, stage);
      CHECK(makespan_of(system) == makespan_of(system_of(name, {4 + stages, 1, 8}, stage)));
    }
  }
}

TEST_CASE("a module holds as many activations as the first stages of 1f1b") {
  const Layer stage = stage_of(1, 2);
  const auto [module, system] = joined(system_of("1f1b", {3, 1, 8}, stage), {.stages = 2}, stage);
  const Report report = simulated(system).report;
  CHECK(report.ranks[3].peak_activations == 5);
  CHECK(report.ranks[4].peak_activations == 4);
  CHECK(report.ranks[0].peak_activations == 3);
}

TEST_CASE("a frozen module only delays the first forward, if it keeps up") {
  for (const double forward : {1.0, 2.0, 3.0}) {
    CAPTURE(forward);
    const System pipeline = system_of("1f1b", {3, 1, 8}, stage_of(1, 2));
    const auto [module, system] = joined(pipeline, {.frozen = true}, stage_of(forward, 9));
    CHECK(us(system) == doctest::Approx(forward + us(pipeline)));
  }
}

TEST_CASE("two ranks of a module in turn keep up where each takes twice as long") {
  const System pipeline = system_of("1f1b", {3, 1, 9}, stage_of(1, 2));
  const auto [module, system] =
      joined(pipeline, {.ranks_in_turn = 2, .frozen = true}, stage_of(6, 9));
  CHECK(us(system) == doctest::Approx(6 + us(pipeline)));
}

TEST_CASE("a module on shared ranks runs before and behind the pipeline") {
  // Each of 3 ranks has 2 of 6 microbatches: 2 forwards, (m+p-1)(f+b) = 24, 2 backwards.
  const System pipeline = system_of("1f1b", {3, 1, 6}, stage_of(1, 2));
  const auto [module, system] =
      joined(pipeline, {.ranks_in_turn = 3, .shares_ranks = true}, stage_of(1, 2));
  CHECK(us(system) == doctest::Approx(2 * 1 + 24 + 2 * 2));
}

TEST_CASE("in bubbles a module costs its first forward and its last backward") {
  // The pipeline has bubbles of (p-1)(f+b) = 6 a rank, and the rest of the module takes 3.
  const System pipeline = system_of("1f1b", {3, 1, 6}, stage_of(1, 2));
  auto [module, system] =
      joined(pipeline, {.ranks_in_turn = 3, .shares_ranks = true}, stage_of(1, 2));
  system.schedule =
      with_module_in_bubbles(pipeline.schedule, pipeline.placement, module, times_of(system));
  CHECK(us(system) == doctest::Approx(1 + 24 + 2));
}

TEST_CASE("a module needs one copy of the model and one rank of its first stage") {
  CHECK(placement_refusal(system_of("chimera", {4, 2, 4}, stage_of(1, 2))) ==
        "a module goes with one copy of the model, and this order has two");
  System replicated = system_of("1f1b", {2, 1, 4}, stage_of(1, 2));
  replicated.placement =
      Placement::given(3, {{Rank{0}, Rank{2}}, {Rank{1}}}, {{Stage{0}, Stage{1}}});
  CHECK(placement_refusal(replicated) == "a module goes with a first stage on one rank");
}

TEST_CASE("modules: both engines agree, and so does the run by the rules") {
  CHECK(rc::check([] {
    const System pipeline = random_pipeline();
    const auto [module, system] = joined(pipeline, random_module(pipeline), random_stage());
    const PricedPlan all = priced_plan(system);
    const Timeline timeline = timeline_of(simulate(all));
    const Timeline events = timeline_of(run_events(all));
    RC_ASSERT(timeline.begin == events.begin);
    RC_ASSERT(timeline.end == events.end);
    if (!module.frozen) RC_ASSERT(run_naively(system).makespan == makespan(all.plan, timeline));
  }));
}

TEST_CASE("modules in bubbles: the same work, never slower than before and behind the pipeline") {
  CHECK(rc::check([] {
    System pipeline = random_pipeline();
    pipeline.hardware = {};
    ModuleRows module = random_module(pipeline);
    module.stages = 1;
    module.shares_ranks = true;
    module.ranks_in_turn = pipeline.placement.ranks();
    auto [rows, system] = joined(pipeline, module, random_stage());
    const Schedule first = system.schedule;
    const Time before = makespan_of(system);
    system.schedule =
        with_module_in_bubbles(pipeline.schedule, pipeline.placement, module, times_of(system));
    RC_ASSERT(makespan_of(system) <= before);
    RC_ASSERT(system.schedule.actions() == first.actions());
    for (const Rank rank : Numbers<Rank>(first.ranks())) {
      const auto& row = system.schedule.on(rank);
      RC_ASSERT(std::is_permutation(row.begin(), row.end(), first.on(rank).begin(),
                                    first.on(rank).end()));
    }
  }));
}

}  // namespace penstock::testing
