#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <utility>

#include "experiments/plan/planner/plan_report.hpp"
#include "experiments/plan/planner/planner.hpp"
#include "experiments/run/run.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {

/// The path of a model of the repository.
inline std::string shared_model(const std::string& name) {
  return PENSTOCK_ROOT "/experiments/models/" + name;
}

/// All that comes with Penstock.
inline const Catalogue& catalogue() {
  static const Catalogue all = read_catalogue();
  return all;
}

inline TrainingTask read_task(const TrainingRequest& request) {
  return read_training_task(request, catalogue());
}

inline LayoutPlan planned(const TrainingTask& task, const PlannerOptions& options = {}) {
  return plan_layouts(task, catalogue(), options);
}

/// A plan, and that of simulating every layout.
inline std::pair<LayoutPlan, LayoutPlan> planned_twice(const TrainingTask& task,
                                                       PlannerOptions options) {
  LayoutPlan plan = planned(task, options);
  options.simulates_all = true;
  return {std::move(plan), planned(task, options)};
}

/// A request for Llama 3.1 8B, on H100s if it names no machine.
inline TrainingTask llama_task(TrainingRequest request) {
  request.model = shared_model("llama-3.1-8b.json");
  if (request.hardware.empty()) request.hardware = "dgx-h100";
  return read_task(request);
}

/// A mixture of experts that is small and whose traffic is not.
inline std::string experts_command(const Scratch& scratch) {
  return scratch.file(
      "train.sh",
      "python pretrain_gpt.py --num-layers 12 --hidden-size 2048 --num-attention-heads 16 "
      "--seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 "
      "--global-batch-size 64 --vocab-size 32768 --bf16 --num-experts 16 --moe-router-topk 4 "
      "--overlap-moe-expert-parallel-comm --swiglu\n");
}

/// The run of a layout's scenario, which takes as long as the planner says.
inline RunResult run_of(const TrainingTask& task, const JudgedLayout& layout) {
  CAPTURE(text_of(layout.choice));
  RunResult result = run(parse_scenario(layout_document(task, layout.choice), task.source));
  REQUIRE(result.report);
  CHECK(result.report->makespan == layout.trial.makespan);
  return result;
}

/// That a plan has the best of so many families, and the front, of one that simulated every layout.
inline void check_plan(const LayoutPlan& plan, const LayoutPlan& all, std::size_t families = 10) {
  const auto rows = listed_families(plan.fitting, families);
  const auto best = listed_families(all.fitting, families);
  REQUIRE(rows.size() == best.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    CHECK(text_of(rows[i].best->choice) == text_of(best[i].best->choice));
    CHECK(rows[i].best->trial.makespan == best[i].best->trial.makespan);
  }
  const auto front = front_of(plan.fitting), whole = front_of(all.fitting);
  REQUIRE(front.size() == whole.size());
  for (std::size_t i = 0; i < front.size(); ++i) {
    CHECK(front[i]->trial.makespan == whole[i]->trial.makespan);
    CHECK(front[i]->trial.peak_bytes == whole[i]->trial.peak_bytes);
  }
}

}  // namespace penstock::testing
