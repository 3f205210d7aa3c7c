#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "experiments/plan/planner/space/layout_choice.hpp"
#include "schedules/partitioners/registry.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

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

/// The best layouts of ten families by bounds and by simulating every layout.
void check_cuts(const TrainingRequest& request, const std::vector<std::string>& only,
                const std::vector<std::string>& names) {
  const auto [plan, all] = planned_twice(
      read_task(request), {.space = {.only = Restrictions(only), .partitions = names}});
  CHECK(plan.simulated <= all.simulated);
  check_plan(plan, all);
}

/// By all partitioners, and by the one that follows the order alone.
void check_cuts(const TrainingRequest& request, const std::vector<std::string>& only) {
  check_cuts(request, only, partitions());
  check_cuts(request, only, {"simulated"});
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
  check_cuts({.model = shared_model("llama-3.1-8b.json"),
              .hardware = "dgx-h100",
              .devices = 8,
              .microbatch = 1,
              .global_batch = 16},
             {"/parallel/pipeline=4", "/schedule/name=1f1b,zb-h1", "/recompute/mode=none",
              "/memory/zero=1,3"});
}

TEST_CASE("planner: the best of each listed family is as fast as its cut by simulation") {
  const Scratch scratch;
  const TrainingTask task = read_task({.model = scratch.file("m.csv", uneven_profile(9, 4)),
                                       .hardware = "dgx-a100",
                                       .devices = 4,
                                       .global_batch = 12});
  const PlannerOptions options{.space = {.only = Restrictions({"/schedule/name=1f1b,zb-h1"})}};
  const LayoutPlan plan = planned(task, options);
  std::size_t simulated = 0;
  for (const ListedFamily& row : listed_families(plan.fitting, options.best)) {
    LayoutChoice choice = row.best->choice;
    simulated += choice.partition == "simulated" ? 1 : 0;
    if (choice.pipeline == 1) continue;
    choice.partition = "simulated";
    const Scenario scenario = parse_scenario(layout_document(task, choice), "");
    CHECK(row.best->trial.makespan <= try_layout(scenario, catalogue(), nullptr).makespan);
  }
  CHECK(simulated > 0);
}

}  // namespace

TEST_SUITE("exhaustive") {
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
}

}  // namespace penstock::testing
