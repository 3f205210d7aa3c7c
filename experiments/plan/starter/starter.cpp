#include "experiments/plan/starter/starter.hpp"

#include <fmt/format.h>

#include <utility>

#include "experiments/input/files/table.hpp"
#include "experiments/plan/planner/plan_report.hpp"
#include "experiments/plan/planner/planner.hpp"
#include "experiments/plan/planner/space/degrees.hpp"
#include "experiments/plan/planner/space/layout_document.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Reports why no layout could be simulated.
[[noreturn]] void refuse(const LayoutPlan& plan) {
  if (!plan.refused.empty()) throw InputError(plan.refused.front().rule);
  const TrainingTask& task = plan.task;
  throw UsageError(
      fmt::format("no layout of {} divides a global batch of {} into "
                  "microbatches of {}, {} of them per replica at most; give another "
                  "--global-batch",
                  counted(task.devices, "device"), task.global_batch, task.microbatch,
                  most_replica_microbatches));
}

std::string fastest_text(const Trial& trial, const LayoutChoice& choice) {
  const double speed = trial.tokens_per_s.value_or(trial.samples_per_s);
  const char* unit = trial.tokens_per_s ? "tokens" : "samples";
  const std::string of =
      trial.capacity_bytes ? " of " + bytes_text(*trial.capacity_bytes) : std::string();
  return fmt::format("fastest: {} {}/s: {}; worst rank {}{}",
                     speed < 1000 ? fmt::format("{:.4g}", speed) : fmt::format("{:.0f}", speed),
                     unit, text_of(choice), bytes_text(trial.peak_bytes), of);
}

}  // namespace

Starter find_starter(const TrainingRequest& request, const OnProgress& on_progress) {
  const Catalogue catalogue = read_catalogue();
  const TrainingTask task = read_training_task(request, catalogue);
  Starter starter;
  starter.plan = plan_layouts(
      task, catalogue, {.best = 1, .most_seconds = starter_seconds, .on_progress = on_progress});
  const LayoutPlan& plan = starter.plan;
  if (!plan.fitting.empty()) {
    starter.text = layout_document(task, plan.fitting.front().choice);
  } else if (!lacks_memory(plan)) {
    refuse(plan);
  }
  return starter;
}

std::vector<std::string> summary_of(const Starter& starter) {
  const LayoutPlan& plan = starter.plan;
  if (!starter.found()) {
    return {"nothing written: no layout fits in memory", closest_text(plan),
            "try more devices, or devices with more memory"};
  }
  const JudgedLayout& fastest = plan.fitting.front();
  std::vector<std::string> lines{counts_text(plan), fastest_text(fastest.trial, fastest.choice)};
  if (plan.stopped) {
    const double left = 1 - plan.slower_bound_us / to_us(fastest.trial.makespan);
    lines.push_back(
        fmt::format("stopped after {} s of every core: none of the others is more than {} faster; "
                    "penstock layout takes the "
                    "time to judge them all",
                    starter_seconds, percent_text(left)));
  }
  return lines;
}

}  // namespace penstock
