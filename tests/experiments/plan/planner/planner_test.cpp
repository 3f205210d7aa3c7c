#include "experiments/plan/planner/planner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/plan/planner/space/layout_choice.hpp"
#include "experiments/plan/planner/space/layout_space.hpp"
#include "experiments/run/layout/spread.hpp"
#include "experiments/run/layout/training.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

/// A request that small cases can be made from.
struct SmallCase {
  std::string model;
  std::string hardware;
  std::uint32_t devices;
  std::uint32_t global_batch;
  std::vector<std::string> only;
  std::vector<std::string> settings = {};
};

TrainingTask task_of(const SmallCase& one) {
  return read_task({.model = shared_model(one.model),
                    .hardware = one.hardware,
                    .devices = one.devices,
                    .global_batch = one.global_batch,
                    .settings = one.settings});
}

constexpr const char* llama = "llama-3.1-8b.json";
constexpr const char* deepseek = "deepseek-v3.json";
constexpr const char* gpt = "gpt-3-175b.sh";

const std::vector<SmallCase>& small_cases() {
  static const std::vector<SmallCase> all{
      {llama,
       "dgx-h100",
       8,
       32,
       {"/model/microbatch=1", "/recompute/mode=none,full", "/parallel/context=1,2",
        "/memory/zero=1,2"}},
      {llama, "dgx-a100", 16, 32, {"/model/microbatch=1,2", "/schedule/name=1f1b,zb-h1,zb-v"}},
      {llama,
       "dgx-h100",
       16,
       16,
       {"/parallel/context=1", "/parallel/chunks=1,2,4", "/recompute/mode=none",
        "/memory/zero=0,1,3"}},
      {llama,
       "mi300x-node",
       8,
       16,
       {"/parallel/tensor=1,2", "/parallel/context=1", "/memory/zero=0,1,2",
        "/model/microbatch=1,2", "/recompute/mode=none,selective"}},
      {llama,
       "dgx-h100",
       32,
       64,
       {"/schedule/name=1f1b,interleaved-1f1b", "/model/microbatch=1", "/memory/zero=1,3",
        "/recompute/mode=none,full"}},
      {llama,
       "dgx-a100",
       8,
       24,
       {"/recompute/mode=full,except_last", "/memory/zero=1,3", "/model/microbatch=1,2",
        "/parallel/context=1"}},
      {gpt,
       "dgx-a100",
       128,
       64,
       {"/parallel/context=1", "/schedule/name=1f1b,interleaved-1f1b", "/memory/zero=1",
        "/recompute/mode=selective,full"}},
      {deepseek,
       "dgx-h200",
       256,
       256,
       {"/parallel/tensor=1", "/parallel/context=1", "/schedule/name=1f1b,dualpipe",
        "/model/microbatch=1", "/recompute/mode=full"}},
      {deepseek,
       "dgx-h200",
       256,
       256,
       {"/parallel/tensor=4", "/parallel/context=1,2", "/parallel/pipeline=8,16",
        "/parallel/expert=8,32", "/schedule/name=1f1b", "/model/microbatch=1",
        "/recompute/mode=full"}}};
  return all;
}

/// The best layout by bounds, and by simulating every layout.
void check_best(const SmallCase& one) {
  CAPTURE(one.hardware);
  CAPTURE(one.devices);
  const auto [plan, all] = planned_twice(
      task_of(one), {.space = {.only = Restrictions(one.only)}, .best = 1, .front = false});
  REQUIRE(all.legal <= 20'000);
  REQUIRE(plan.fitting.empty() == all.fitting.empty());
  if (all.fitting.empty()) return;
  CHECK(text_of(plan.fitting.front().choice) == text_of(all.fitting.front().choice));
  CHECK(plan.fitting.front().trial.makespan == all.fitting.front().trial.makespan);
  CHECK(plan.simulated < all.simulated);
}

TEST_CASE("planner: the best layout is that of simulating every layout") {
  check_best(
      {llama,
       "dgx-h100",
       8,
       16,
       {"/model/microbatch=1", "/parallel/context=1", "/memory/zero=1,3", "/recompute/mode=none"}});
}

/// Simulates all layouts of a case, each of which throws if a bound is above its time or memory.
std::size_t check_bounds(const SmallCase& one) {
  PlannerOptions options{.space = {.only = Restrictions(one.only), .lossy = true},
                         .simulates_all = true};
  return planned(task_of(one), options).simulated;
}

TEST_CASE("planner: no bound is above the simulated step time or memory") {
  const SmallCase one{
      llama,
      "dgx-h100",
      8,
      16,
      {"/model/microbatch=1", "/parallel/context=1", "/parallel/pipeline=2", "/parallel/tensor=1,2",
       "/recompute/mode=none,except_last", "/memory/zero=1,3",
       "/schedule/name=1f1b,seq-1f1b,dualpipev,zb-v,interleaved-1f1b,chimera"}};
  // ZeRO-3 runs on a stack of its own.
  const SmallCase sharded{llama,
                          "dgx-a100",
                          16,
                          32,
                          {"/model/microbatch=1", "/parallel/context=4,8", "/parallel/pipeline=1",
                           "/recompute/mode=none", "/memory/zero=3", "/schedule/name=1f1b"}};
  CHECK(check_bounds(one) > 50);
  CHECK(check_bounds(sharded) > 2);
  SmallCase encoded{llama,
                    "dgx-h100",
                    8,
                    16,
                    {"/model/microbatch=1", "/parallel/context=1", "/parallel/tensor=1",
                     "/memory/zero=1", "/schedule/name=1f1b,zb-v", "/recompute/mode=none,full"},
                    {"/codec/stash=bfp", "/codec/link=bfp"}};
  CHECK(check_bounds(encoded) > 5);
  encoded.settings = {"/offload/keep=2"};
  CHECK(check_bounds(encoded) > 2);
}

TEST_CASE("planner: no bound holds less under settings that change how an order runs") {
  SmallCase one{
      gpt,
      "dgx-h100",
      32,
      32,
      {"/parallel/pipeline=4", "/parallel/tensor=4", "/parallel/data=2", "/parallel/sequence=true",
       "/schedule/name=1f1b,dualpipe,dualpipev", "/recompute/mode=none,full", "/memory/zero=0"}};
  for (const char* setting :
       {"/chance/jitter=0.3", "/chance/samples=[0.5,1]", "/chance/transfer_jitter=0.3",
        "/chance/stragglers=[{\"rank\":1,\"factor\":0.5}]", "/recompute/early=true",
        "/memory/policy=stall,/memory/capacity_bytes=1e15",
        "/hardware/transfers={\"blocking\":true}", "/overheads/launch_us=5",
        "/parallel/overlap_sums=false"}) {
    one.settings = {setting};
    CHECK_MESSAGE(check_bounds(one) > 0, std::string(setting));
  }
}

TEST_CASE("planner: a layout under several names is listed once, under the first of them") {
  // With one microbatch nothing but the last one is there to be spared.
  const TrainingTask task = task_of({llama, "dgx-h100", 8, 4, {}});
  PlannerOptions options{.space = {.only = Restrictions({"/parallel/data=4", "/parallel/pipeline=2",
                                                         "/recompute/mode=none,except_last",
                                                         "/schedule/name=1f1b,gpipe,naive"}),
                                   .partitions = {"even", "balanced"}},
                         .best = 10'000};
  const LayoutPlan plan = planned(task, options);
  REQUIRE_FALSE(plan.fitting.empty());
  CHECK(plan.repeated > 0);
  CHECK_FALSE(plan.stopped);
  CHECK(plan.fitting.size() + plan.tight.size() + plan.too_large.size() + plan.repeated ==
        plan.simulated);
  for (const ListedFamily& row : listed_families(plan.fitting, 10'000)) {
    CAPTURE(text_of(row.best->choice));
    CHECK(row.best->choice.schedule == "1f1b");
    CHECK(row.best->choice.recompute == "none");
  }
}

TEST_CASE("planner: a time limit ends the search with the best so far, and says so") {
  const TrainingTask task = task_of({llama, "dgx-h100", 16, 32, {}});
  const LayoutPlan plan = planned(task, {.best = 1, .front = false, .most_seconds = 0});
  CHECK(plan.stopped);
  CHECK_FALSE(plan.fitting.empty());
  CHECK(plan.slower > 0);
  CHECK(plan.slower_bound_us <= to_us(plan.best()->trial.makespan));
  CHECK(says(counts_text(plan), "left when the time was up"));
  CHECK_FALSE(planned(task, {.best = 1}).stopped);
}

TEST_CASE("planner: a search of many degrees has a layout that fits before it has all bounds") {
  const TrainingTask task =
      read_task({.model = shared_model(deepseek), .hardware = "dgx-h100", .devices = 2048});
  const LayoutPlan plan =
      planned(task, {.space = {.partitions = {"even", "balanced"}}, .best = 1, .most_seconds = 0});
  CHECK(plan.stopped);
  REQUIRE_FALSE(plan.fitting.empty());
  CHECK(plan.best()->trial.fits());
  CHECK(plan.best()->number >= std::uint64_t{1} << 63U);  // behind all layouts of the space
  CHECK(plan.slower_bound_us == 0);
  CHECK(plan.simulated == plan.fitting.size() + plan.repeated);
  CHECK(plan.slower == plan.legal - plan.simulated);
  CHECK(plan_text(plan, 1).find("how much faster the others may be is not known") !=
        std::string::npos);
}

TEST_CASE("planner: a search of many degrees that is asked to end does so while it has no bounds") {
  const TrainingTask task =
      read_task({.model = shared_model(deepseek), .hardware = "dgx-h100", .devices = 2048});
  std::atomic<int> asked = 0;
  const LayoutPlan plan = planned(task, {.asked_to_end = [&] { return ++asked > 10; }});
  CHECK(plan.stopped);
  CHECK(plan.fitting.empty());
  CHECK(plan.slower_bound_us == 0);
}

TEST_CASE("planner: a layout's scenario as text and as value are the same") {
  const TrainingTask task = task_of({llama, "dgx-h100", 8, 32, {}});
  const LayoutPlan plan = planned(task, {.space = {.lossy = true}});
  for (const JudgedLayout& layout : plan.fitting) {
    const RunResult result = run_of(task, layout);
    CHECK(result.throughput.samples_per_s == layout.trial.samples_per_s);
  }
}

TEST_CASE("planner: experts are laid out as chosen, whatever the training command states") {
  const Scratch scratch;
  const std::string command = scratch.file(
      "train.sh",
      "python pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 "
      "--seq-length 512 --max-position-embeddings 512 --micro-batch-size 1 --global-batch-size 16 "
      "--tensor-model-parallel-size 4 --vocab-size 8192 --bf16 --num-experts 8 "
      "--expert-model-parallel-size 2 --expert-tensor-parallel-size 2 --sequence-parallel "
      "--swiglu\n");
  const TrainingTask task =
      read_task({.model = command, .hardware = "dgx-h100", .devices = 8, .global_batch = 16});
  for (const char* shared : {"1", "4"}) {
    const Restrictions only({"/parallel/tensor=4", std::string("/parallel/expert_tensor=") + shared,
                             "/parallel/expert=2"});
    const LayoutPlan plan = planned(task, {.space = {.only = only}, .best = 3});
    REQUIRE_FALSE(plan.fitting.empty());
    for (const JudgedLayout& layout : plan.fitting) {
      const RunResult result = run_of(task, layout);
      CHECK(std::to_string(result.layout.degrees.expert_tensor) == shared);
      CHECK(result.layout.degrees.expert == 2);
      CHECK(devices_of(result.layout) == 8);
    }
  }
}

TEST_CASE("planner: one thread and several find the same") {
  const TrainingTask task = task_of({llama, "dgx-h100", 16, 32, {}});
  const LayoutPlan one = planned(task, {.jobs = 1});
  const LayoutPlan several = planned(task, {.jobs = 4});
  CHECK(plan_text(one, 10) == plan_text(several, 10));
}

TEST_CASE("planner: all layouts are counted once") {
  const TrainingTask task = task_of({llama, "dgx-h100", 16, 32, {}});
  const LayoutPlan plan = planned(task);
  std::uint64_t refused = 0;
  for (const Exclusion& one : plan.refused) refused += one.layouts;
  CHECK(plan.simulated ==
        plan.fitting.size() + plan.tight.size() + plan.too_large.size() + plan.repeated);
  CHECK(plan.without_memory + plan.slower + plan.simulated + refused == plan.legal);
  CHECK(std::any_of(plan.excluded.begin(), plan.excluded.end(), [](const Exclusion& one) {
    return one.rule == "expert degree does not divide the experts";
  }));
}

TEST_CASE(
    "planner: what leaves too little memory stands apart, and what does not fit is left out") {
  const TrainingTask task = task_of({llama, "dgx-h100", 8, 8, {}});
  for (const double headroom : {0.0, 0.08, 0.3}) {
    CAPTURE(headroom);
    const LayoutPlan plan = planned(task, {.best = 3, .headroom = headroom});
    REQUIRE(!plan.fitting.empty());
    for (const auto* list : {&plan.fitting, &plan.tight}) {
      CHECK(std::is_sorted(list->begin(), list->end(), is_better));
    }
    const double capacity = static_cast<double>(*plan.fitting.front().trial.capacity_bytes);
    const auto has_room = [&](const JudgedLayout& one) {
      return one.trial.fits() && double(one.trial.peak_bytes) <= (1 - headroom) * capacity;
    };
    for (const JudgedLayout& one : plan.fitting) CHECK(has_room(one));
    for (const JudgedLayout& one : plan.tight) {
      CHECK(one.trial.may_fit());
      CHECK(!has_room(one));
    }
    for (const JudgedLayout& one : plan.too_large) {
      CHECK(one.trial.word == MemoryWord::does_not_fit);
    }
  }
}

/// Whether a plan has the front, and the tight layouts, that simulating all layouts has.
void check_front(const TrainingRequest& request, const PlannerOptions& options) {
  const auto [plan, all] = planned_twice(read_task(request), options);
  CHECK(plan.whole_front);
  check_plan(plan, all, options.best);
  if (all.tight.empty() || all.fitting.empty()) return;
  const bool faster = all.tight.front().trial.makespan < all.fitting.front().trial.makespan;
  if (!faster) return;
  REQUIRE(!plan.tight.empty());
  CHECK(plan.tight.front().trial.makespan == all.tight.front().trial.makespan);
}

TEST_CASE("planner: families, front and tight layouts are those of simulating every layout") {
  check_front({.model = shared_model(llama),
               .hardware = "dgx-h100",
               .devices = 8,
               .microbatch = 1,
               .global_batch = 16},
              {.space = {.only = Restrictions({"/schedule/name=1f1b,zb-v", "/parallel/context=1",
                                               "/memory/zero=1,3"})},
               .best = 4});
}

TEST_CASE("planner: a step time is known as `run` says of its layout, with short kernels too") {
  const SmallCase short_kernels{llama, "dgx-h100", 8, 8, {}, {"/model/sequence=128"}};
  const TrainingTask task = task_of(short_kernels);
  for (const char* only : {"/memory/zero=1", "/memory/zero=3"}) {
    const LayoutPlan plan =
        planned(task, {.space = {.only = Restrictions({"/parallel/data=8", only})}, .best = 1});
    const JudgedLayout& first = plan.fitting.front();
    const std::string document = layout_document(task, first.choice);
    const RunSpread spread = spread_of(settle(parse_scenario(document, task.source)));
    REQUIRE(spread.longer > 1);
    // A normal distribution has 90 % of its weight within 1.645 deviations.
    const double factor = std::exp(1.645 * spread.value);
    CHECK(known_to(first.trial).least == doctest::Approx(1 / factor));
    CHECK(known_to(first.trial).most == doctest::Approx(std::max(factor, spread.longer)));
  }
  CHECK(known_to(Trial{}).most == doctest::Approx(1.03));
}

TEST_CASE("planner: where restrictions leave no layout, it says which, and what there is") {
  const TrainingTask task = task_of({llama, "dgx-h100", 8, 8, {}});
  const auto why = [&](const std::vector<std::string>& only) {
    return why_no_layout(task, {.only = Restrictions(only)});
  };
  CHECK(why({"/parallel/tensor=3", "/schedule/name=1f1b"}) ==
        "/parallel/tensor=3 leaves none; legal: 1, 2, 4, 8");
  CHECK(why({"/partition/name=ideals"}) ==
        "/partition/name=ideals leaves none; legal: even, balanced; --partitions adds others");
  CHECK(why({"/parallel/tensor=4", "/parallel/pipeline=4"})
            .starts_with("/parallel/pipeline=4 /parallel/tensor=4 leave none together; without "
                         "/parallel/pipeline=4: "));
}

}  // namespace

TEST_SUITE("exhaustive") {
  TEST_CASE("planner: the best layout of eight cases is that of simulating every layout") {
    for (const SmallCase& one : small_cases()) check_best(one);
  }

  TEST_CASE("planner: no bound is above the simulated step time of 10,000 layouts") {
    std::size_t layouts = 0;
    for (const SmallCase& one : small_cases()) layouts += check_bounds(one);
    layouts += check_bounds(
        {llama,
         "dgx-h100",
         16,
         32,
         {"/model/microbatch=1", "/parallel/context=1", "/recompute/mode=none", "/memory/zero=1"}});
    layouts += check_bounds({deepseek,
                             "dgx-h100",
                             64,
                             64,
                             {"/parallel/tensor=2", "/parallel/context=1", "/parallel/chunks=1,2",
                              "/model/microbatch=1", "/recompute/mode=full", "/memory/zero=1",
                              "/schedule/name=1f1b,dualpipev"}});
    CHECK(layouts >= 10'000);
  }
}

}  // namespace penstock::testing
