#include "experiments/plan/planner/plan_answers.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/plan/planner/plan_report.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

using Texts = std::vector<std::string>;

TrainingTask llama_on(const std::string& machine, std::uint32_t devices,
                      const Texts& settings = {}) {
  return llama_task(
      {.hardware = machine, .devices = devices, .microbatch = 1, .settings = settings});
}

PlannerOptions planner_of(const Texts& only) {
  return {.space = {.only = Restrictions(only)}, .best = 1, .front = false};
}

const Texts plain_space{"/schedule/name=1f1b", "/parallel/context=1", "/memory/zero=1"};

/// Why the best layout with some values loses to the plain space.
std::string losing_because(const TrainingTask& task, const char* values) {
  const PlannerOptions planner = planner_of(plain_space);
  return why_text(planned(task, planner), catalogue(), planner, Restrictions({values}, "--why"));
}

TEST_CASE("answers: --why splits the difference, and it adds up") {
  const std::string text = losing_because(llama_on("dgx-h100", 8), "/parallel/pipeline=4");
  CAPTURE(text);
  CHECK(says(text, "why not /parallel/pipeline=4\nits best takes "));
  CHECK(says(text, "\nbubble "));
  CHECK(says(text, "\ncompute "));
  CHECK_FALSE(says(text, "expert traffic"));
}

TEST_CASE("answers: --why names memory where a layout without its limit would be faster") {
  const char* const one_stage = "/parallel/pipeline=1";
  const std::string short_of =
      losing_because(llama_on("dgx-h100", 8, {"/memory/capacity_bytes=40e9"}), one_stage);
  CAPTURE(short_of);
  CHECK(says(short_of, "memory forces this: without its limit "));
  const std::string roomy =
      losing_because(llama_on("dgx-h100", 8, {"/memory/capacity_bytes=1e15"}), one_stage);
  CAPTURE(roomy);
  CHECK_FALSE(says(roomy, "memory forces this"));
}

TEST_CASE("answers: --why of a value that fits nowhere says what the closest needs") {
  const std::string text =
      losing_because(llama_on("dgx-h100", 8, {"/memory/capacity_bytes=40e9"}), "/parallel/data=8");
  CAPTURE(text);
  CHECK(says(text, "no layout fits in memory\n"));
  CHECK(says(text, "more memory needed than there is"));
  CHECK_FALSE(says(text, "its best takes"));
}

TEST_CASE("answers: machines are compared by samples a second, and equal ones are equally fast") {
  const std::vector<TrainingTask> tasks{llama_on("dgx-h100", 8), llama_on("dgx-h100", 8),
                                        llama_on("dgx-h100", 16), llama_on("dgx-b200", 8)};
  const auto compared = comparisons(tasks, catalogue(), planner_of(plain_space));
  REQUIRE(compared.size() == 1);  // the level that is asked for has one stack
  const auto& plans = compared.front();
  const auto json = machines_json(plans);
  REQUIRE(json.size() == 4);
  for (std::size_t i = 0; i < json.size(); ++i) {
    CAPTURE(i);
    const auto& speed = json[i]["speed"];
    CHECK(speed["ratio"].get<double>() == doctest::Approx(plans[i].best()->trial.samples_per_s /
                                                          plans[0].best()->trial.samples_per_s));
    CHECK(speed["low"] < speed["ratio"]);
    CHECK(speed["ratio"] < speed["high"]);
  }
  CHECK(json[1]["speed"]["ratio"] == 1.0);
  CHECK(json[2]["speed"]["ratio"] > 1.5);  // twice the batch in about the same time
  CHECK(json[3]["speed"]["ratio"] > 1.2);
  // The errors of two machines have nothing in common; 90 % of a normal distribution.
  const double spread =
      std::hypot(plans[0].best()->trial.spread->value, plans[3].best()->trial.spread->value);
  CHECK(json[3]["speed"]["high"].get<double>() / json[3]["speed"]["ratio"].get<double>() ==
        doctest::Approx(std::exp(1.645 * spread)).epsilon(0.001));
  CHECK(says(machines_text(plans), "dgx-b200"));
}

TEST_CASE("answers: speeds of machines whose prices have no known spread have no interval") {
  auto compared =
      comparisons({llama_on("dgx-h100", 8), llama_on("dgx-h100", 16), llama_on("dgx-b200", 8)},
                  catalogue(), planner_of(plain_space));
  REQUIRE(compared.size() == 1);
  auto& plans = compared.front();
  const auto known = machines_json(plans);
  for (LayoutPlan& plan : plans) {
    for (JudgedLayout& one : plan.fitting) one.trial.spread.reset();
  }
  const auto json = machines_json(plans);
  REQUIRE(json.size() == 3);
  CHECK(json[2]["speed"]["ratio"] == known[2]["speed"]["ratio"]);
  CHECK(json[2]["speed"]["low"].is_null());
  CHECK(json[2]["speed"]["high"].is_null());
  CHECK(json[1]["speed"] == known[1]["speed"]);  // one machine has one error
}

TEST_CASE("answers: a plan says as JSON, too, why no stack prices it") {
  LayoutPlan plan;
  CHECK(plan_json(plan, 1)["no_stack"].is_null());
  plan.no_stack = "no stack: chip has none";
  CHECK(plan_json(plan, 1)["no_stack"] == "no stack: chip has none");
}

TEST_CASE("answers: whole and sharded gradients are compared apart, each on one stack") {
  const auto compared = comparisons({llama_on("dgx-h100", 8), llama_on("dgx-b200", 8)}, catalogue(),
                                    planner_of({"/schedule/name=1f1b", "/parallel/pipeline=1"}));
  REQUIRE(compared.size() == 2);
  for (std::size_t sharded = 0; sharded < 2; ++sharded) {
    for (const LayoutPlan& plan : compared[sharded]) {
      if (plan.best() == nullptr) continue;
      CHECK(runs_sharded(plan.best()->choice.zero) == (sharded == 1));
      CHECK(plan.stacks[sharded] == compared[sharded].front().stacks[sharded]);
    }
  }
}

TEST_CASE("answers: where the first machine is too small, speeds are over the first that is not") {
  const auto compared = comparisons({llama_on("dgx-h100", 1), llama_on("dgx-h100", 8)}, catalogue(),
                                    planner_of({"/schedule/name=1f1b"}));
  REQUIRE(compared.size() == 2);
  for (const auto& plans : compared) {
    const std::string text = machines_text(plans);
    CAPTURE(text);
    const bool sharded = &plans == &compared.back();
    CHECK(says(text, sharded ? "no layout is legal" : "no layout fits"));
    const auto json = machines_json(plans);
    CHECK_FALSE(json[0].contains("speed"));
    CHECK(json[1]["speed"]["ratio"] == 1.0);
  }
  const auto none =
      comparisons({llama_on("dgx-h100", 1)}, catalogue(), planner_of({"/schedule/name=1f1b"}));
  REQUIRE_FALSE(none.empty());
  CHECK(says(machines_text(none.front()), "no layout fits"));
}

TEST_CASE("answers: the stack of a comparison does not depend on whether its first plan fits") {
  const Texts only{"/schedule/name=1f1b", "/parallel/pipeline=1", "/memory/zero=2"};
  const auto compared = comparisons({llama_on("dgx-h100", 1), llama_on("dgx-h100", 8)}, catalogue(),
                                    planner_of(only));
  REQUIRE(compared.size() == 1);
  const LayoutPlan& last = compared.front().back();
  CHECK(last.best()->trial.makespan ==
        planned(llama_on("dgx-h100", 8), planner_of(only)).best()->trial.makespan);
  CHECK(says(machines_text(compared.front()), "fsdp-compiled"));
  CHECK(compared.front().front().none_because == "/memory/zero=2 leaves none; legal: 0");
}

TEST_CASE("answers: every stack that lists the device is a row") {
  const PlannerOptions planner = planner_of(plain_space);
  const LayoutPlan plan = planned(llama_on("dgx-h100", 8), planner);
  const std::string text = stacks_text(plan, catalogue(), planner);
  CAPTURE(text);
  CHECK(says(text, "megatron-bridge-2025"));
  CHECK(says(text, "megatron-2024"));
  CHECK(says(text, "fsdp-compiled"));
  CHECK_FALSE(says(text, "megatron-2021"));  // of the A100 alone
  CHECK(says(text, "the same"));
}

TEST_CASE("answers: with a changed machine the best moves or stays") {
  const PlannerOptions planner = planner_of(plain_space);
  const TrainingTask task = llama_on("dgx-h100", 8);
  const LayoutPlan plan = planned(task, planner);
  const std::string text = change_text(plan, plan, "/hardware/nic_efficiency=0.5");
  CHECK(says(text, "with /hardware/nic_efficiency=0.5\n"));
  CHECK(says(text, "the layout stays the same"));
  const auto json = change_json(plan, plan, "/hardware/nic_efficiency=0.5");
  CHECK(json["slower"] == 0);
  CHECK(json["former_best_slower"] == 0);
  CHECK(json["plan"] == plan_json(plan, 1));
}

TEST_CASE("answers: a best layout that is not listed has the reason beside it") {
  LayoutPlan plan;
  plan.tight.emplace_back();
  plan.tight.front().trial.makespan = from_us(2.345e6);
  plan.tight.front().trial.word = MemoryWord::may_fit;
  CHECK(says(change_text(plan, plan, "/a=1"), "\nbest: 2.345 s, may fit: "));
  CHECK(says(machines_text({plan}), " B, may fit "));
  plan.tight.front().trial.word = MemoryWord::fits;
  CHECK(says(change_text(plan, plan, "/a=1"), "\nbest: 2.345 s, without headroom: "));
  plan.fitting.swap(plan.tight);
  CHECK(says(change_text(plan, plan, "/a=1"), "\nbest: 2.345 s: "));
}

TEST_CASE("answers: a best layout of a search that was stopped is marked") {
  LayoutPlan plan{.fitting = std::vector<JudgedLayout>(1)};
  plan.fitting.front().trial.makespan = from_us(2.345e6);
  CHECK_FALSE(says(change_text(plan, plan, "/a=1"), "stopped"));
  LayoutPlan after = plan;
  after.stopped = true;
  CHECK(says(change_text(plan, after, "/a=1"), "\nbest: 2.345 s, search stopped early: "));
  CHECK(says(machines_text({after}), " B, search stopped early "));
}

TEST_CASE("answers: JSON of --why has the parts of both steps") {
  const PlannerOptions planner = planner_of(plain_space);
  const LayoutPlan plan = planned(llama_on("dgx-h100", 8), planner);
  const auto json =
      why_json(plan, catalogue(), planner, Restrictions({"/parallel/pipeline=4"}, "--why"));
  CHECK(json["values"] == "/parallel/pipeline=4");
  const auto& own = json["plan"]["layouts"][0];
  CHECK(own["pipeline"] == 4);
  double sum = 0;
  for (const auto& part : json["step_us"]["own"]) sum += part.get<double>();
  CHECK(sum == doctest::Approx(own["makespan_us"].get<double>()));
  CHECK(json["slower"].get<double>() ==
        doctest::Approx(sum / to_us(plan.best()->trial.makespan) - 1));
}

}  // namespace
}  // namespace penstock::testing
