#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

/// The plan by bounds, held against simulating all its layouts: the best of ten families and the
/// front. No bound is above what a simulation gave, else planning throws.
LayoutPlan checked_plan(const TrainingRequest& request, const std::vector<std::string>& only,
                        bool offloads = false) {
  const auto [plan, all] = planned_twice(
      read_task(request), {.space = {.only = Restrictions(only), .offloads = offloads}});
  CHECK(all.legal <= 20'000);
  CHECK(plan.simulated < all.simulated);
  check_plan(plan, all);
  return all;
}

template <class Test>
auto count(const LayoutPlan& plan, Test test) {
  return std::count_if(plan.fitting.begin(), plan.fitting.end(),
                       [&](const JudgedLayout& one) { return test(one.choice); });
}

}  // namespace

TEST_CASE("planner: fused cells and hidden expert traffic are found as if all were simulated") {
  const Scratch scratch;
  const LayoutPlan plan =
      checked_plan({.model = experts_command(scratch), .hardware = "dgx-h100", .devices = 16},
                   {"/schedule/name=1f1b,interleaved-1f1b,dualpipev", "/parallel/pipeline=1,2,4",
                    "/parallel/chunks=1,2,3", "/parallel/tensor=1,2", "/parallel/context=1",
                    "/parallel/expert=1,4", "/recompute/mode=none,full", "/memory/zero=1,3"});
  CHECK(count(plan, [](const LayoutChoice& one) { return one.fused; }) > 10);
  CHECK(count(plan, [](const LayoutChoice& one) { return one.hides_experts; }) > 10);
  for (const JudgedLayout& one : plan.fitting) {
    if (!one.choice.hides_experts) continue;
    CHECK(one.choice.expert > 1);
    CHECK(one.choice.recompute != "full");
    CHECK((one.choice.chunks > 1 || one.choice.pipeline == 1));
  }
}

TEST_CASE("planner: layers recomputed or offloaded in part are found as if all were simulated") {
  for (const bool offloads : {false, true}) {
    CAPTURE(offloads);
    const LayoutPlan plan =
        checked_plan({.model = shared_model("llama-3.1-8b.json"),
                      .hardware = "dgx-a100",
                      .devices = 8,
                      .global_batch = 16},
                     {"/schedule/name=1f1b,interleaved-1f1b,zb-v", "/parallel/chunks=1,2,4",
                      "/parallel/context=1", "/recompute/mode=none,full", "/memory/zero=1,3",
                      "/model/microbatch=1,2"},
                     offloads);
    const auto offloaded = [](const LayoutChoice& one) { return one.offloaded_layers > 0; };
    CHECK(count(plan, [](const LayoutChoice& one) { return one.layers > 0; }) > 20);
    CHECK((count(plan, offloaded) > 20) == offloads);
  }
}

TEST_CASE("planner: layers are restricted by number, and other recomputations left out") {
  const TrainingTask task = llama_task({.devices = 8});
  const LayoutPlan plan =
      planned(task, {.space = {.only = Restrictions({"/recompute/layers=2,3"})}});
  REQUIRE_FALSE(plan.fitting.empty());
  for (const JudgedLayout& one : plan.fitting) {
    CHECK(one.choice.recompute == "full");
    CHECK((one.choice.layers == 2 || one.choice.layers == 3));
  }
  CHECK(says(text_of(plan.best()->choice), "recomputation of 2 layers a stage"));
  const LayoutPlan offloaded =
      planned(task, {.space = {.only = Restrictions({"/offload/layers=5"})}});
  REQUIRE_FALSE(offloaded.fitting.empty());
  for (const JudgedLayout& one : offloaded.fitting) {
    CHECK(one.choice.offloaded_layers == 5);
    CHECK(one.choice.recompute == "none");
    run_of(task, one);
  }
  CHECK(says(text_of(offloaded.best()->choice), "offload of 5 layers a stage"));
}

TEST_CASE("planner: settings that some layouts alone take are left out of the others") {
  const auto task_with = [&](std::vector<std::string> settings) {
    return llama_task(
        {.devices = 8, .sequence = 4096, .global_batch = 16, .settings = std::move(settings)});
  };
  for (const char* setting : {"/parallel/overlap_gathers=false", "/parallel/bucket_bytes=4e7",
                              "/memory/prefetch_layers=2", "/memory/whole_gradients=false",
                              "/model/dtype=fp8,/parallel/narrow_gathers=true"}) {
    CAPTURE(std::string(setting));
    const TrainingTask task = task_with({setting});
    const LayoutPlan plan = planned(
        task, {.space = {.only = Restrictions({"/schedule/name=1f1b,zb-v", "/model/microbatch=1",
                                               "/recompute/mode=none", "/parallel/context=1"})},
               .best = 100});
    CHECK(plan.refused.empty());
    REQUIRE_FALSE(plan.fitting.empty());
    for (const JudgedLayout& layout : plan.fitting) run_of(task, layout);
  }
  CHECK_THROWS_AS(
      planned(task_with({"/memory/prefetch_layers=2", "/parallel/overlap_gathers=false"})),
      UsageError);
}

TEST_CASE("planner: a model section that a setting states keeps the sequence of the request") {
  const TrainingTask task = llama_task(
      {.devices = 8,
       .sequence = 2048,
       .settings = {"/model={\"file\":\"" + shared_model("llama-3.1-70b.json") + "\"}"}});
  const Scenario scenario = parse_scenario(layout_document(task, {.data = 8}), "");
  CHECK(scenario.model.sequence == 2048);
}

}  // namespace penstock::testing
