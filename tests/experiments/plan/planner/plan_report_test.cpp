#include "experiments/plan/planner/plan_report.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "experiments/input/long_work/budget.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

TEST_CASE("planner: two layouts share most of the error of their prices") {
  LayoutPlan plan;
  JudgedLayout one, other;
  one.trial.makespan = from_us(100);
  other.trial.makespan = from_us(100);
  CHECK(faster_with(plan, one, other) == doctest::Approx(0.5));
  // One standard deviation: 84.1 % of a normal distribution lie below it.
  other.trial.makespan = from_us(100 * std::exp(0.08));
  CHECK(faster_with(plan, one, other) == doctest::Approx(0.841).epsilon(0.001));
  CHECK(faster_with(plan, other, one) == doctest::Approx(0.159).epsilon(0.01));
  // On another stack the errors are not the same.
  other.choice.zero = 3;
  one.trial.spread = other.trial.spread = RunSpread{.value = 0.1, .because = "", .beyond = {}};
  CHECK(faster_with(plan, one, other) < 0.75);
}

JudgedLayout listed_layout(double us, std::uint64_t bytes, std::uint32_t chunks,
                           std::uint32_t tensor = 1) {
  JudgedLayout layout;
  layout.trial.makespan = from_us(us);
  layout.trial.peak_bytes = bytes;
  layout.choice.chunks = chunks;
  layout.choice.tensor = tensor;
  return layout;
}

TEST_CASE("planner: a family is one row with its best, and with those as fast") {
  const std::vector<JudgedLayout> layouts{listed_layout(100, 5, 3), listed_layout(100.9, 5, 4),
                                          listed_layout(101, 5, 1, 2), listed_layout(101.1, 5, 5),
                                          listed_layout(105, 5, 1, 4)};
  const auto rows = listed_families(layouts, 2);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].best == &layouts[0]);
  REQUIRE(rows[0].near.size() == 1);
  CHECK(rows[0].near[0]->choice.chunks == 4);
  CHECK(rows[1].best->choice.tensor == 2);
  CHECK(listed_families(layouts, 9).size() == 3);
}

TEST_CASE("planner: the front is what is smaller than everything faster") {
  const std::vector<JudgedLayout> layouts{listed_layout(1, 50, 1), listed_layout(2, 60, 1),
                                          listed_layout(3, 40, 1), listed_layout(4, 40, 1)};
  CHECK(front_of(layouts) == std::vector<const JudgedLayout*>{&layouts[0], &layouts[2]});
}

TEST_CASE("planner: the counts of a plan add up to its legal layouts") {
  LayoutPlan plan{.refused = {{"a rule", 2}, {"another", 1}},
                  .legal = 15,
                  .without_memory = 5,
                  .slower = 3,
                  .simulated = 4};
  CHECK(counts_text(plan) ==
        "judged 15 legal layouts: 3 are refused (--why rules), 5 need more memory than there is, 3 "
        "have a bound above the listed times, 4 were simulated (0 do not fit, 0 repeat another "
        "under a second name)");
}

TEST_CASE("planner: layouts that save memory by codecs and offloading are counted too") {
  const TrainingTask task = llama_task({.devices = 8, .settings = {"/memory/capacity_bytes=40e9"}});
  const LayoutPlan plan =
      planned(task, {.space = {.only = Restrictions({"/schedule/name=1f1b", "/parallel/pipeline=2",
                                                     "/parallel/tensor=2", "/recompute/mode=none"}),
                               .lossy = true,
                               .offloads = true}});
  CHECK(plan.simulated > 0);
  std::uint64_t refused = 0;
  for (const Exclusion& one : plan.refused) refused += one.layouts;
  CHECK(plan.without_memory + plan.slower + plan.simulated + refused == plan.legal);
}

TEST_CASE("planner: layouts whose simulation needs too much memory are left out and counted") {
  const TrainingTask task = llama_task({.devices = 8, .microbatch = 1, .global_batch = 4096});
  const Budget before = budget();
  set_budget(given_budget(18e6));  // 3 MB beside the program: some 8,000 cells
  const LayoutPlan plan =
      planned(task, {.space = {.only = Restrictions({"/schedule/name=1f1b", "/parallel/tensor=1,2",
                                                     "/parallel/context=1", "/memory/zero=1",
                                                     "/recompute/mode=full"})}});
  set_budget(before);
  CAPTURE(counts_text(plan));
  REQUIRE(!plan.fitting.empty());
  CHECK(plan.refused.front().rule == too_large_to_simulate);
  CHECK(says(counts_text(plan), " would need more memory to simulate than --max-memory"));
}

TEST_CASE("planner: that some layouts do not run with documents is said beside the others") {
  LayoutPlan plan{.fitting = {listed_layout(100, 5, 1)}, .fastest_full = from_us(90)};
  CHECK_FALSE(says(plan_text(plan, 1), "do not run with these documents"));
  plan.draws_refused = "/batch/longer: a document has 9 tokens, and a microbatch 8";
  CHECK(says(plan_text(plan, 1),
             "\nsome do not run with these documents: /batch/longer: a "
             "document has 9 tokens, and a microbatch 8\n"));
}

TEST_CASE("planner: where nothing fits, a layout is named only with a number of its own") {
  LayoutPlan plan;
  CHECK(closest_text(plan).empty());
  plan.least = TooLarge{.least_bytes = 3.25 * 1073741824};
  CHECK(closest_text(plan) == "no layout needs less than 3.25 GiB");
  plan.least->choice = LayoutChoice{};
  CHECK(closest_text(plan) == "the smallest needs at least 3.25 GiB: " + text_of(LayoutChoice{}));
  plan.too_large.push_back(listed_layout(1, std::uint64_t{9} << 29U, 1));
  CHECK(closest_text(plan).starts_with("the closest that was simulated needs 4.5 GiB: "));
}

TEST_CASE("planner: what a stopped search leaves out is said of a known bound alone") {
  LayoutPlan plan{.fitting = {listed_layout(100, 5, 1)}};
  plan.stopped = plan.unplaced = true;
  plan.fastest_full = from_us(90);
  plan.slower_bound_us = 45;  // half
  CHECK(others_text(plan) ==
        "none of the others is more than 50.0 % faster with full microbatches, but for those with "
        "devices of its own for the encoder");
  CHECK(plan_json(plan, 1)["least_other_us"] == 45);
  plan.slower_bound_us = 0;
  CHECK(others_text(plan) == "how much faster the others may be is not known");
  CHECK(plan_json(plan, 1)["least_other_us"].is_null());
}

TEST_CASE("planner: a search that is ended before its first layout does not say that none fits") {
  const LayoutPlan plan =
      planned(llama_task({.devices = 16}), {.asked_to_end = [] { return true; }});
  CHECK(plan.stopped);
  CHECK(none_text(plan) == "the search was stopped before it found a layout that fits\n");
}

}  // namespace
}  // namespace penstock::testing
