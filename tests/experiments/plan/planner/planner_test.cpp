#include "experiments/plan/planner/planner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "experiments/plan/planner/plan_report.hpp"
#include "experiments/plan/planner/space/layout_choice.hpp"
#include "experiments/plan/planner/space/layout_space.hpp"
#include "experiments/run/layout/spread.hpp"
#include "experiments/run/layout/training.hpp"
#include "experiments/run/run.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"
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

std::string planned_model(const std::string& name) {
  return std::string(PENSTOCK_ROOT) + "/" + name;
}

TrainingTask task_of(const SmallCase& one, const Catalogue& catalogue) {
  return read_training_task({.model = planned_model(one.model),
                             .hardware = one.hardware,
                             .devices = one.devices,
                             .global_batch = one.global_batch,
                             .settings = one.settings},
                            catalogue);
}

constexpr const char* llama = "experiments/models/llama-3.1-8b.json";
constexpr const char* deepseek = "experiments/models/deepseek-v3.json";
constexpr const char* gpt = "experiments/models/gpt-3-175b.sh";

const std::vector<SmallCase>& small_cases() {
  static const std::vector<SmallCase> all{
      {llama, "dgx-h100", 8, 32, {"/model/microbatch=1", "/recompute/mode=none,full"}},
      {llama, "dgx-a100", 16, 32, {"/model/microbatch=1,2", "/schedule/name=1f1b,zb-h1,zb-v"}},
      {llama,
       "dgx-h100",
       16,
       16,
       {"/parallel/context=1", "/parallel/chunks=1,2,4", "/recompute/mode=none,full"}},
      {llama,
       "mi300x-node",
       8,
       16,
       {"/parallel/tensor=1,2", "/memory/zero=0,1,2", "/model/microbatch=1,2"}},
      {llama, "dgx-h100", 32, 64, {"/schedule/name=1f1b,interleaved-1f1b", "/model/microbatch=1"}},
      {llama, "dgx-a100", 8, 24, {"/recompute/mode=full,except_last", "/memory/zero=1,3"}},
      {gpt, "dgx-a100", 128, 64, {"/parallel/context=1", "/schedule/name=1f1b,interleaved-1f1b"}},
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
void check_best(const SmallCase& one, const Catalogue& catalogue) {
  const TrainingTask task = task_of(one, catalogue);
  CAPTURE(one.hardware);
  CAPTURE(one.devices);
  PlannerOptions options{.space = {.only = Restrictions(one.only)}, .best = 1};
  const LayoutPlan plan = plan_layouts(task, catalogue, options);
  options.simulates_all = true;
  const LayoutPlan all = plan_layouts(task, catalogue, options);
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
       {"/model/microbatch=1", "/parallel/context=1", "/memory/zero=1,3", "/recompute/mode=none"}},
      read_catalogue());
}

/// Simulates all layouts of a case, each of which throws if a bound is above its time or memory.
std::size_t check_bounds(const SmallCase& one, const Catalogue& catalogue) {
  PlannerOptions options{.space = {.only = Restrictions(one.only), .lossy = true},
                         .simulates_all = true};
  return plan_layouts(task_of(one, catalogue), catalogue, options).simulated;
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
  const Catalogue catalogue = read_catalogue();
  CHECK(check_bounds(one, catalogue) > 50);
  CHECK(check_bounds(sharded, catalogue) > 2);
  SmallCase encoded{llama,
                    "dgx-h100",
                    8,
                    16,
                    {"/model/microbatch=1", "/parallel/context=1", "/parallel/tensor=1",
                     "/memory/zero=1", "/schedule/name=1f1b,zb-v", "/recompute/mode=none,full"},
                    {"/codec/stash=bfp", "/codec/link=bfp"}};
  CHECK(check_bounds(encoded, catalogue) > 5);
  encoded.settings = {"/offload/keep=2"};
  CHECK(check_bounds(encoded, catalogue) > 2);
}

TEST_CASE("planner: a bound above what was simulated is a fault of the planner") {
  JudgedLayout layout{.bound_us = 100, .least_bytes = 7};
  layout.trial.makespan = from_us(100);
  layout.trial.peak_bytes = 7;
  check_bounds(layout);
  layout.bound_us = 101;
  CHECK_THROWS_WITH_AS(
      check_bounds(layout),
      "fault of the planner: the bound of 101 us is above the step time of 100 us of tensor 1, "
      "pipeline 1, data 1, 1f1b, 1 microbatch of 1, no recomputation; please report it",
      std::logic_error);
  layout.bound_us = 100;
  layout.least_bytes = 9;
  CHECK_THROWS_AS(check_bounds(layout), std::logic_error);
}

TEST_CASE("planner: no bound holds less under settings that change how an order runs") {
  const Catalogue catalogue = read_catalogue();
  SmallCase one{
      gpt,
      "dgx-h100",
      32,
      32,
      {"/parallel/pipeline=4", "/parallel/tensor=4", "/parallel/data=2", "/parallel/sequence=true",
       "/schedule/name=1f1b,dualpipe,dualpipev", "/recompute/mode=none,full", "/memory/zero=0"}};
  for (const char* setting :
       {"/chance/jitter=0.3", "/chance/samples=[0.5,1]", "/chance/transfer_jitter=0.3",
        "/chance/stragglers=[{\"rank\":1,\"factor\":0.5}]", "/schedule/overlap=fused",
        "/recompute/early=true", "/memory/policy=stall,/memory/capacity_bytes=1e15",
        "/hardware/transfers={\"blocking\":true}", "/overheads/launch_us=5",
        "/parallel/overlap_sums=false"}) {
    one.settings = {setting};
    CHECK_MESSAGE(check_bounds(one, catalogue) > 0, std::string(setting));
  }
}

/// A profile of layers whose times differ up to twentyfold.
std::string uneven_profile(std::uint32_t layers, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto draw = [&](std::uint32_t least, std::uint32_t most) {
    return std::to_string(least + random() % (most - least));
  };
  std::string text =
      "layer,examples,forward_us,backward_us,backward_input_us,backward_weight_us,"
      "activation_bytes,stash_bytes,parameter_bytes\n";
  for (std::uint32_t i = 0; i < layers; ++i) {
    text += "l" + std::to_string(i) + ",1," + draw(100, 2000) + "." + draw(0, 9) + "," +
            draw(150, 4000) + "," + draw(80, 2000) + "," + draw(80, 2000) + "," +
            draw(1'000, 50'000'000) + "," + draw(1'000, 400'000'000) + "," +
            draw(1'000, 600'000'000) + "\n";
  }
  return text;
}

/// All partitioners.
std::vector<std::string> partitions() {
  std::vector<std::string> names;
  for (const PartitionerEntry* entry : partitioner_entries()) names.emplace_back(entry->name);
  return names;
}

/// The ten best layouts by bounds and by simulating every layout, over all partitioners.
void check_cuts(const TrainingRequest& request, const std::vector<std::string>& only) {
  const Catalogue catalogue = read_catalogue();
  const TrainingTask task = read_training_task(request, catalogue);
  PlannerOptions options{.space = {.only = Restrictions(only), .partitions = partitions()}};
  const LayoutPlan plan = plan_layouts(task, catalogue, options);
  options.simulates_all = true;
  const LayoutPlan all = plan_layouts(task, catalogue, options);
  CHECK(plan.simulated <= all.simulated);
  REQUIRE(plan.fitting.size() >= std::min<std::size_t>(10, all.fitting.size()));
  for (std::size_t i = 0; i < std::min<std::size_t>(10, all.fitting.size()); ++i) {
    CAPTURE(i);
    CHECK(text_of(plan.fitting[i].choice) == text_of(all.fitting[i].choice));
    CHECK(plan.fitting[i].trial.makespan == all.fitting[i].trial.makespan);
  }
}

TEST_CASE("planner: with every partitioner the ten best layouts are those of simulating all") {
  const Scratch scratch;
  const std::vector<std::string> only{"/schedule/name=1f1b,interleaved-1f1b,zb-h1,chimera,bpipe",
                                      "/memory/zero=0,1,2"};
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    CAPTURE(seed);
    const std::string model =
        scratch.file(std::to_string(seed) + ".csv", uneven_profile(5 + 2 * seed, seed));
    check_cuts({.model = model, .hardware = "dgx-a100", .devices = 4, .global_batch = 12}, only);
  }
  check_cuts({.model = planned_model(llama),
              .hardware = "dgx-h100",
              .devices = 8,
              .microbatch = 1,
              .global_batch = 16},
             {"/parallel/pipeline=4", "/schedule/name=1f1b,zb-h1", "/recompute/mode=none",
              "/memory/zero=1,3"});
}

TEST_CASE("planner: a layout under several names is listed once, under the first of them") {
  const Catalogue catalogue = read_catalogue();
  // With one microbatch nothing but the last one is there to be spared.
  const TrainingTask task = task_of({llama, "dgx-h100", 8, 4, {}}, catalogue);
  PlannerOptions options{.space = {.only = Restrictions({"/parallel/data=4", "/parallel/pipeline=2",
                                                         "/recompute/mode=none,except_last",
                                                         "/schedule/name=1f1b,gpipe,naive"}),
                                   .partitions = {"even", "balanced"}},
                         .best = 10'000};
  const LayoutPlan plan = plan_layouts(task, catalogue, options);
  REQUIRE_FALSE(plan.fitting.empty());
  CHECK(plan.repeated > 0);
  CHECK_FALSE(plan.stopped);
  CHECK(plan.fitting.size() + plan.too_large.size() + plan.repeated == plan.simulated);
  for (const JudgedLayout& layout : plan.fitting) {
    CAPTURE(text_of(layout.choice));
    CHECK(layout.choice.schedule == "1f1b");
    CHECK(layout.choice.recompute == "none");
  }
}

TEST_CASE("planner: a time limit ends the search with the best so far, and says so") {
  const Catalogue catalogue = read_catalogue();
  const TrainingTask task = task_of({llama, "dgx-h100", 16, 32, {}}, catalogue);
  const LayoutPlan plan = plan_layouts(task, catalogue, {.best = 1, .most_seconds = 0});
  CHECK(plan.stopped);
  CHECK_FALSE(plan.fitting.empty());
  CHECK(plan.slower > 0);
  CHECK(plan.slower_bound_us <= to_us(plan.fitting.front().trial.makespan));
  CHECK(counts_text(plan).find("left when the time was up") != std::string::npos);
  CHECK_FALSE(plan_layouts(task, catalogue, {.best = 1}).stopped);
}

TEST_CASE("planner: a layout's scenario as text and as value are the same") {
  const Catalogue catalogue = read_catalogue();
  const TrainingTask task = task_of({llama, "dgx-h100", 16, 32, {}}, catalogue);
  const LayoutPlan plan = plan_layouts(task, catalogue, {.space = {.lossy = true}});
  for (const JudgedLayout& layout : plan.fitting) {
    CAPTURE(text_of(layout.choice));
    const RunResult result = run(parse_scenario(layout_document(task, layout.choice), task.source));
    REQUIRE(result.report);
    CHECK(result.report->makespan == layout.trial.makespan);
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
      "--expert-model-parallel-size 2 --expert-tensor-parallel-size 2 --swiglu\n");
  const Catalogue catalogue = read_catalogue();
  const TrainingTask task = read_training_task(
      {.model = command, .hardware = "dgx-h100", .devices = 8, .global_batch = 16}, catalogue);
  for (const char* shared : {"1", "4"}) {
    const Restrictions only({"/parallel/tensor=4", std::string("/parallel/expert_tensor=") + shared,
                             "/parallel/expert=2"},
                            "--only");
    const LayoutPlan plan = plan_layouts(task, catalogue, {.space = {.only = only}, .best = 3});
    REQUIRE_FALSE(plan.fitting.empty());
    for (const JudgedLayout& layout : plan.fitting) {
      const RunResult result =
          run(parse_scenario(layout_document(task, layout.choice), task.source));
      REQUIRE(result.report);
      CHECK(result.report->makespan == layout.trial.makespan);
      CHECK(std::to_string(result.layout.degrees.expert_tensor) == shared);
      CHECK(result.layout.degrees.expert == 2);
      CHECK(devices_of(result.layout) == 8);
    }
  }
}

TEST_CASE("planner: one thread and several find the same") {
  const Catalogue catalogue = read_catalogue();
  const TrainingTask task = task_of({llama, "dgx-h100", 16, 32, {}}, catalogue);
  const LayoutPlan one = plan_layouts(task, catalogue, {.jobs = 1});
  const LayoutPlan several = plan_layouts(task, catalogue, {.jobs = 4});
  CHECK(plan_text(one, 10, {}, true) == plan_text(several, 10, {}, true));
}

TEST_CASE("planner: all layouts are counted once") {
  const Catalogue catalogue = read_catalogue();
  const TrainingTask task = task_of({llama, "dgx-h100", 16, 32, {}}, catalogue);
  const LayoutPlan plan = plan_layouts(task, catalogue, {});
  std::uint64_t refused = 0;
  for (const Exclusion& one : plan.refused) refused += one.layouts;
  CHECK(plan.simulated == plan.fitting.size() + plan.too_large.size() + plan.repeated);
  CHECK(plan.without_memory + plan.slower + plan.simulated + refused == plan.legal);
  CHECK(std::any_of(plan.excluded.begin(), plan.excluded.end(), [](const Exclusion& one) {
    return one.rule == "expert degree does not divide the experts";
  }));
}

TEST_CASE("planner: ties are the layouts whose intervals meet that of the fastest") {
  LayoutPlan plan;
  for (const std::int64_t us : {100, 104, 107, 120}) {
    JudgedLayout layout;
    layout.trial.makespan = from_us(static_cast<double>(us));
    plan.fitting.push_back(layout);
  }
  CHECK(ties_of(plan, {1, 1}) == 1);
  // 104 × 0.97 = 100.88 is below 103, 107 × 0.97 = 103.79 above.
  CHECK(ties_of(plan, {0.97, 1.03}) == 2);
  CHECK(ties_of(plan, {0.9, 1.1}) == 4);  // 120 × 0.9 = 108 is below 110
}

TEST_CASE("planner: layouts that may fit come after those that fit, however fast they are") {
  const auto layout = [](double us, std::uint64_t bytes, MemoryWord word) {
    JudgedLayout one;
    one.trial.makespan = from_us(us);
    one.trial.peak_bytes = bytes;
    one.trial.word = word;
    return one;
  };
  LayoutPlan plan;
  plan.fitting = {layout(90, 30, MemoryWord::may_fit), layout(100, 20, MemoryWord::fits),
                  layout(102, 20, MemoryWord::fits)};
  std::sort(plan.fitting.begin(), plan.fitting.end(), is_better);
  CHECK(to_us(plan.fitting[0].trial.makespan) == 100);
  CHECK(to_us(plan.fitting[1].trial.makespan) == 102);
  CHECK(plan.fitting[2].trial.may_fit());
  CHECK(!plan.fitting[2].trial.fits());
  CHECK(!layout(1, 1, MemoryWord::does_not_fit).trial.may_fit());
  // The front asks only for time and memory; a tie also for the word.
  CHECK(pareto_front(plan.fitting) == std::vector<bool>{true, false, true});
  CHECK(ties_of(plan, {0.9, 1.1}) == 2);
}

TEST_CASE("planner: what only may fit is listed and marked, and what does not fit is left out") {
  const Catalogue catalogue = read_catalogue();
  const TrainingTask task = task_of({llama, "dgx-h100", 8, 8, {}}, catalogue);
  const LayoutPlan plan = plan_layouts(task, catalogue, {.best = 3, .simulates_all = false});
  REQUIRE(!plan.fitting.empty());
  CHECK(std::is_sorted(plan.fitting.begin(), plan.fitting.end(), is_better));
  for (const JudgedLayout& one : plan.fitting) CHECK(one.trial.may_fit());
  for (const JudgedLayout& one : plan.too_large) {
    CHECK(one.trial.word == MemoryWord::does_not_fit);
    CHECK(one.trial.interval.least > 0.98 * static_cast<double>(*one.trial.capacity_bytes));
  }
}

TEST_CASE("planner: step times are known as the spread of their prices says, or as asked") {
  const Catalogue catalogue = read_catalogue();
  const TrainingTask task = task_of({llama, "dgx-h100", 8, 8, {}}, catalogue);
  const LayoutPlan plan = plan_layouts(
      task, catalogue, {.space = {.only = Restrictions({"/parallel/pipeline=1"})}, .best = 1});
  const RunResult result =
      run(parse_scenario(layout_document(task, plan.fitting.front().choice), task.source));
  REQUIRE(result.layout.hardware.confidence);
  REQUIRE(plan.spread);
  CHECK(*plan.spread == spread_of(result.layout).value);
  // A normal distribution has 90 % of its weight within 1.645 deviations.
  const double factor = std::exp(1.645 * *plan.spread);
  CHECK(known_to(plan, {}).most == doctest::Approx(factor));
  CHECK(known_to(plan, {}).least == doctest::Approx(1 / factor));
  CHECK(known_to(plan, 0.05).least == doctest::Approx(0.95));
  CHECK(known_to(LayoutPlan{}, {}).most == doctest::Approx(1.03));
}

TEST_CASE("planner: the front is what is smaller than everything faster") {
  std::vector<JudgedLayout> layouts(4);
  const std::vector<std::uint64_t> bytes{50, 60, 40, 40};
  for (std::size_t i = 0; i < layouts.size(); ++i) layouts[i].trial.peak_bytes = bytes[i];
  CHECK(pareto_front(layouts) == std::vector<bool>{true, false, true, false});
}

TEST_CASE("planner: restrictions name axes of layouts") {
  const Restrictions only({"/parallel/pipeline=2,4"});
  CHECK(only.allow("/parallel/pipeline", 4U));
  CHECK_FALSE(only.allow("/parallel/pipeline", 8U));
  CHECK(only.allow("/parallel/tensor", 8U));
  const Restrictions both({"/parallel/tensor=1..8*2,/parallel/pipeline=4"});
  CHECK(both.text() == "/parallel/pipeline=4 /parallel/tensor=1,2,4,8");
  for (const char* text :
       {"/parallel/pipelin=2", "/parallel/pipeline", "/parallel/tensor=banana",
        "/parallel/tensor=0", "/parallel/tensor=2.5", "/parallel/tensor=-4",
        "/parallel/tensor=\"4\"", "/parallel/tensor=[4]", "/parallel/tensor=4GB",
        "/parallel/tensor=0.5..1.5", "/parallel/tensor=4,", "/memory/zero=4", "/schedule/name=1f1c",
        "/schedule/name=1f1b&/memory/zero=1", "/recompute/mode=most", "/parallel/sequence=yes",
        "/codec/link=zip", "/partition/name=evn"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(Restrictions({text}), UsageError);
  }
  CHECK_THROWS_AS(Restrictions({"/memory/zero=1", "/memory/zero=2"}), UsageError);
}

TEST_CASE("planner: where restrictions leave no layout, it says which, and what there is") {
  const TrainingTask task = task_of({llama, "dgx-h100", 8, 8, {}}, read_catalogue());
  const auto why = [&](const std::vector<std::string>& only) {
    return why_no_layout(task, {.only = Restrictions(only)});
  };
  CHECK(why({"/parallel/tensor=3", "/schedule/name=1f1b"}) ==
        "/parallel/tensor=3 leaves none; legal: 1, 2, 4, 8");
  CHECK(why({"/partition/name=balanced"}) ==
        "/partition/name=balanced leaves none; legal: even; --partitions adds others");
  CHECK(why({"/parallel/tensor=4", "/parallel/pipeline=4"})
            .starts_with("/parallel/pipeline=4 /parallel/tensor=4 leave none together; without "
                         "/parallel/pipeline=4: "));
}

}  // namespace

TEST_SUITE("exhaustive") {
  TEST_CASE("planner: the best layout of eight cases is that of simulating every layout") {
    const Catalogue catalogue = read_catalogue();
    for (const SmallCase& one : small_cases()) check_best(one, catalogue);
  }

  TEST_CASE("planner: 40 random models by every partitioner have the ten best of simulating all") {
    const Scratch scratch;
    for (std::uint32_t seed = 1; seed <= 40; ++seed) {
      CAPTURE(seed);
      const std::string model =
          scratch.file(std::to_string(seed) + ".csv", uneven_profile(4 + seed % 9, seed));
      check_cuts({.model = model,
                  .hardware = seed % 2 == 0 ? "dgx-a100" : "mi300x-node",
                  .devices = seed % 3 == 0 ? 8U : 4U,
                  .global_batch = 8 + 4 * (seed % 4)},
                 {"/memory/zero=0,1,2"});
    }
  }

  TEST_CASE("planner: no bound is above the simulated step time of 10,000 layouts") {
    const Catalogue catalogue = read_catalogue();
    std::size_t layouts = 0;
    for (const SmallCase& one : small_cases()) layouts += check_bounds(one, catalogue);
    layouts += check_bounds({llama, "dgx-h100", 16, 32, {"/model/microbatch=1,2"}}, catalogue);
    layouts += check_bounds({deepseek,
                             "dgx-h100",
                             64,
                             64,
                             {"/parallel/tensor=2", "/parallel/context=1", "/parallel/chunks=1,2",
                              "/model/microbatch=1", "/recompute/mode=full"}},
                            catalogue);
    CHECK(layouts >= 10'000);
  }
}

}  // namespace penstock::testing
