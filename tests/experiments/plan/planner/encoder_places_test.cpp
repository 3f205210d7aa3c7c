#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "experiments/plan/planner/space/framework.hpp"
#include "experiments/run/layout/training.hpp"
#include "sim/base/error.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

TrainingTask with_pictures(std::uint32_t devices, const std::vector<std::string>& settings = {}) {
  return read_task({.model = shared_model("qwen3-vl-8b.json"),
                    .hardware = "dgx-h100",
                    .devices = devices,
                    .global_batch = 64,
                    .settings = settings});
}

bool has_own_devices(const JudgedLayout& layout) {
  return layout.choice.module && layout.choice.module->devices > 0;
}

/// That layouts with an encoder of its own run from their files as the planner judged them.
void check_scenarios(const LayoutPlan& plan) {
  for (const JudgedLayout& layout : plan.fitting) {
    if (!layout.choice.module) continue;
    const RunResult result = run_of(plan.task, layout);
    CHECK(result.throughput.samples_per_s == layout.trial.samples_per_s);
    CHECK(devices_of(result.layout) == plan.task.devices);
  }
}

}  // namespace

// The encoder, cut with the decoder, makes stages uneven; in the bubbles of all ranks it does not.
TEST_CASE("planner: the encoder of a model is tried on every rank, as its scenario runs it") {
  TrainingTask task = with_pictures(16);
  const Restrictions only({"/parallel/pipeline=4", "/parallel/context=1", "/parallel/tensor=2",
                           "/schedule/name=1f1b", "/memory/zero=1"});
  const LayoutPlan plan = planned(task, {.space = {.only = only}, .best = 2});
  const auto places = std::count_if(plan.fitting.begin(), plan.fitting.end(),
                                    [](const auto& one) { return one.choice.module.has_value(); });
  CHECK(places == 4);  // of one family: first and in bubbles, by groups of one and two
  REQUIRE(plan.best()->choice.module);
  CHECK(text_of(*plan.best()->choice.module) == "vision in bubbles on every rank");
  check_scenarios(plan);
  set_framework(framework_of("megatron"), catalogue(), task);
  const LayoutPlan of_megatron = planned(task, {.space = {.only = only}, .best = 2});
  CHECK(std::none_of(of_megatron.fitting.begin(), of_megatron.fitting.end(),
                     [](const auto& one) { return one.choice.module.has_value(); }));
}

// Pipelines of four leave 8 or 16 devices of 40, and none of these is a layout of all 40.
TEST_CASE("planner: an encoder gets devices of its own, as its scenario runs it") {
  const TrainingTask task = with_pictures(40);
  const Restrictions only({"/parallel/pipeline=4", "/parallel/tensor=2", "/parallel/context=1",
                           "/schedule/name=1f1b", "/memory/zero=1"});
  const LayoutPlan plan = planned(task, {.space = {.only = only}, .best = 2});
  CHECK(plan.none_because.empty());
  REQUIRE_FALSE(plan.fitting.empty());
  CHECK(std::all_of(plan.fitting.begin(), plan.fitting.end(), has_own_devices));
  CHECK(text_of(*plan.best()->choice.module) == "vision on 8 devices of its own, tensor 2");
  CHECK(plan.best()->choice.data == 4);
  check_scenarios(plan);
}

// More families are cut as one than are listed, so the search of the other layers is cut short.
TEST_CASE("planner: no encoder with devices of its own is faster than those that are listed") {
  const TrainingTask task = with_pictures(40);
  const Restrictions only({"/parallel/pipeline=4,5,10", "/parallel/tensor=2", "/model/microbatch=1",
                           "/schedule/name=1f1b,zb-h1,gpipe", "/memory/zero=1",
                           "/recompute/mode=none,full", "/partition/name=balanced"});
  PlannerOptions options{.space = {.only = only, .partitions = {"balanced"}}, .best = 15};
  const LayoutPlan plan = planned(task, options);
  options.simulates_all = true;
  options.best = 1000;
  const LayoutPlan all = planned(task, options);
  const std::vector<ListedFamily> rows = listed_families(plan.fitting, 15);
  REQUIRE(rows.size() == 15);
  std::size_t found = 0;
  for (const JudgedLayout& one : all.fitting) {
    if (!has_own_devices(one) || is_better(*rows.back().best, one)) continue;
    CAPTURE(text_of(one.choice));
    CHECK(std::any_of(plan.fitting.begin(), plan.fitting.end(),
                      [&](const JudgedLayout& known) { return known.choice == one.choice; }));
    ++found;
  }
  CHECK(found > 0);
  CHECK(all.simulated > plan.simulated);
}

// Of 14 devices, pipelines of four with three replicas leave two for the encoder, and neither two
// replicas nor one of two devices go with three pipelines.
TEST_CASE("planner: an encoder whose replicas go with no pipeline has no layout") {
  TrainingTask task = with_pictures(14);
  task.global_batch = 24;
  const Restrictions only({"/parallel/pipeline=4", "/parallel/tensor=1", "/parallel/context=1",
                           "/parallel/data=3", "/schedule/name=1f1b"});
  const LayoutPlan plan = planned(task, {.space = {.only = only}, .best = 2});
  CHECK(plan.beside > 0);
  CHECK(plan.legal == 0);
  CHECK(none_text(plan) == "no layout is legal: " + plan.none_because + "\n");
}

TEST_CASE("planner: a search whose time is up says that an encoder was not placed") {
  const Restrictions only({"/parallel/pipeline=4,5", "/parallel/tensor=2", "/schedule/name=1f1b"});
  PlannerOptions options{.space = {.only = only}, .best = 2, .most_seconds = 0.0};
  const LayoutPlan plan = planned(with_pictures(40), options);
  REQUIRE_FALSE(plan.fitting.empty());
  CHECK(plan.stopped);
  CHECK(plan.unplaced);
  CHECK(plan.beside == 0);
  CHECK(std::any_of(plan.fitting.begin(), plan.fitting.end(),  // tried on every rank all the same
                    [](const JudgedLayout& one) { return one.choice.module.has_value(); }));
}

// No layout is one of all 40 devices, so only what lies beside the encoder can be unknown.
TEST_CASE("planner: a search that ends before its encoder's devices have bounds says which lack") {
  const TrainingTask task = with_pictures(40);
  const Restrictions only({"/parallel/pipeline=4", "/parallel/tensor=2", "/parallel/context=1",
                           "/schedule/name=1f1b", "/memory/zero=1"});
  bool placed = false;
  for (int most = 0; most < 1000 && !placed; ++most) {
    CAPTURE(most);
    std::atomic<int> asked = 0;
    const LayoutPlan plan =
        planned(task, {.space = {.only = only}, .best = 2, .jobs = 1, .asked_to_end = [&] {
                         return ++asked > most;
                       }});
    CHECK(plan.stopped);
    CHECK(plan.unplaced);
    CHECK(plan.slower_bound_us > 0);
    placed = plan.beside > 0;
  }
  CHECK(placed);
}

TEST_CASE("planner: no encoder with a place of its own beside a codec") {
  const Restrictions only({"/parallel/pipeline=4,5", "/parallel/tensor=2", "/parallel/context=1",
                           "/schedule/name=1f1b", "/codec/link=bfp,none"});
  const LayoutPlan plan =
      planned(with_pictures(40), {.space = {.only = only, .lossy = true}, .best = 20});
  CHECK(std::any_of(plan.fitting.begin(), plan.fitting.end(),
                    [](const JudgedLayout& one) { return one.choice.link.has_value(); }));
  CHECK(std::any_of(plan.fitting.begin(), plan.fitting.end(), has_own_devices));
  check_scenarios(plan);
}

TEST_CASE("planner: an encoder that settings place on every rank goes with no codec") {
  const Restrictions only({"/parallel/pipeline=4", "/parallel/tensor=2", "/parallel/context=1",
                           "/schedule/name=1f1b", "/memory/zero=1", "/codec/link=bfp,none"});
  const TrainingTask task = with_pictures(16, {R"(/modules={"vision":{"devices":"shared"}})"});
  const LayoutPlan plan = planned(task, {.space = {.only = only, .lossy = true}, .best = 20});
  REQUIRE_FALSE(plan.fitting.empty());
  CHECK(std::none_of(plan.fitting.begin(), plan.fitting.end(),
                     [](const JudgedLayout& one) { return one.choice.link.has_value(); }));
  CHECK(std::any_of(plan.refused.begin(), plan.refused.end(), [](const Exclusion& one) {
    return says(one.rule, "/codec: codecs go with one set of degrees");
  }));
}

TEST_CASE("planner: a stated number of devices for an encoder is refused") {
  const TrainingTask task = with_pictures(40, {R"(/modules={"vision":{"data":8}})"});
  CHECK_THROWS_WITH_AS(planned(task),
                       doctest::Contains("--set /modules: an encoder gets devices of its own"),
                       UsageError);
}

}  // namespace penstock::testing
