#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "experiments/plan/planner/plan_answers.hpp"
#include "experiments/run/repeat.hpp"
#include "sim/base/error.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

/// Llama 3.1 8B on 16 devices, with documents if a batch is given.
TrainingTask documents_task(const std::string& batch,
                            std::optional<std::uint32_t> microbatch = {}) {
  TrainingRequest request{
      .devices = 16, .sequence = 8192, .microbatch = microbatch, .global_batch = 64};
  if (!batch.empty()) request.settings = {"/batch=" + batch};
  return llama_task(request);
}

constexpr const char* packed_documents =
    R"({"lengths": {"distribution": "lognormal", "mean": 2048, "max": 8192}, "pack": "first-fit"})";

PlannerOptions few_layouts() {
  PlannerOptions options;
  options.space.only = Restrictions({"/schedule/name=1f1b,gpipe", "/parallel/pipeline=2,4",
                                     "/parallel/context=1", "/recompute/mode=none"});
  options.best = options.drawn = 4;
  return options;
}

}  // namespace

TEST_CASE("planner: with documents, listed layouts have their mean step over draws") {
  const TrainingTask task = documents_task(packed_documents);
  const LayoutPlan plan = planned(task, few_layouts());
  REQUIRE(plan.fitting.size() >= 2);
  CHECK(std::ranges::is_sorted(plan.fitting, {}, [](const auto& one) { return one.trial.pace(); }));
  for (const JudgedLayout& one : plan.fitting) {
    const RunResult result =
        run(parse_scenario(layout_document(task, one.choice), "s.json"), {.repeat = judged_draws});
    REQUIRE(result.repeated);
    CHECK(one.trial.makespan == step_of(result));
    CHECK(one.trial.mean_within == result.repeated->mean_within);
    CHECK(one.trial.filled < 1);
    const double tokens = 64 * 8192 * one.trial.filled;
    CHECK(*one.trial.tokens_per_s ==
          doctest::Approx(tokens / (to_us(one.trial.makespan) * 1e-6)).epsilon(1e-9));
    CHECK(one.trial.peak_bytes == highest_peak(*result.report, result.batch).bytes);
    CHECK(one.trial.word == worst_memory(result).word);
  }
  const LayoutPlan full = planned(documents_task(""), few_layouts());
  CHECK(plan.fastest_full == full.fitting.front().trial.makespan);
  CHECK(plan.legal == full.legal);
  CHECK(says(plan_text(plan, 4), "times are means of 16 draws of documents"));
  CHECK_FALSE(full.fastest_full);
}

// A document fills a sixteenth of a microbatch, so all bounds lie above the drawn steps.
TEST_CASE("planner: with documents, an early stop compares full microbatches") {
  const TrainingTask task =
      documents_task(R"({"lengths": {"histogram": [{"tokens": 512}]}, "tokens": 8192})", 1);
  PlannerOptions options = few_layouts();
  options.most_seconds = 0;
  const LayoutPlan plan = planned(task, options);
  CHECK(plan.fitting.size() == 1);  // the time is up for draws of others too
  CHECK(plan.stopped);
  CHECK(plan.slower_bound_us < std::numeric_limits<double>::infinity());
  CHECK(says(plan_text(plan, 4), "faster with full microbatches"));
}

TEST_CASE("planner: with documents, a question about one family compares those of the list") {
  const TrainingTask task = documents_task(packed_documents);
  const PlannerOptions options{
      .space = {
          .only = Restrictions({"/schedule/name=1f1b", "/parallel/pipeline=2",
                                "/parallel/context=1", "/recompute/mode=none",
                                "/model/microbatch=1", "/memory/zero=1", "/parallel/tensor=2,4"})}};
  const LayoutPlan plan = planned(task, options);
  const LayoutPlan best = best_plan(task, catalogue(), options);
  REQUIRE(plan.fitting.size() > 1);
  CHECK(best.simulated == plan.simulated);
  CHECK(best.fitting.size() == plan.fitting.size());
  CHECK(best.best()->choice == plan.best()->choice);
}

TEST_CASE("planner: where no layout takes the documents, the answer says why") {
  const TrainingTask task =
      documents_task(R"({"lengths": {"histogram": [{"tokens": 100000}]}, "longer": "refuse"})", 1);
  const LayoutPlan plan = planned(task, few_layouts());
  CHECK(plan.fitting.empty());
  CHECK(says(plan_text(plan, 4),
             "no layout runs with these documents: /batch/longer: a document has "
             "100000 tokens, and a microbatch 8192"));
}

TEST_CASE("planner: where a document is a microbatch, layouts must take as many") {
  const std::string batch = R"({"lengths": {"distribution": "uniform", "max": 8192}})";
  CHECK_THROWS_WITH_AS(
      planned(documents_task(batch), few_layouts()),
      "--set /batch: without \"pack\" a document is a microbatch; give --microbatch 1, so that a "
      "step of every layout takes as many",
      UsageError);
  const LayoutPlan plan = planned(documents_task(batch, 1), few_layouts());
  REQUIRE_FALSE(plan.fitting.empty());
  CHECK(plan.fitting.front().trial.mean_within.has_value());
}

}  // namespace penstock::testing
