#include "experiments/plan/starter/starter.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/plan/planner/plan_report.hpp"
#include "experiments/plan/planner/space/layout_choice.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Reports why no layout could be simulated.
[[noreturn]] void refuse(const LayoutPlan& plan) {
  if (!plan.refused.empty()) throw InputError(plan.refused.front().rule);
  const TrainingTask& task = plan.task;
  throw UsageError(
      fmt::format("no layout of {} divides a global batch of {} into microbatches of {}, {} of "
                  "them per replica at most; give another --global-batch",
                  counted(task.devices, "device"), task.global_batch, task.microbatch,
                  most_replica_microbatches));
}

std::string fastest_text(const Trial& trial, const LayoutChoice& choice) {
  const double speed = trial.tokens_per_s.value_or(trial.samples_per_s);
  const char* unit = trial.tokens_per_s ? "tokens" : "samples";
  const std::string of =
      trial.capacity_bytes ? " of " + bytes_text(*trial.capacity_bytes) : std::string();
  const std::string word =
      trial.word == MemoryWord::may_fit ? ", " + std::string(text(*trial.word)) : std::string();
  return fmt::format("fastest: {} {}/s: {}; worst rank {}{}{}",
                     speed < 1000 ? fmt::format("{:.4g}", speed) : fmt::format("{:.0f}", speed),
                     unit, text_of(choice), bytes_text(trial.peak_bytes), of, word);
}

ordered_json small_model() {
  const ordered_json stage{{"forward_us", 1000},         {"backward_input_us", 1000},
                           {"backward_weight_us", 1000}, {"activation_bytes", 8'388'608},
                           {"stash_bytes", 268'435'456}, {"parameter_bytes", 1'073'741'824}};
  return {{"description",
           "what each stage costs for one microbatch. activation_bytes go to the next stage; "
           "stash_bytes are kept until the backward pass; parameter_bytes for the whole run. "
           "Instead of stages: layers, or a file"},
          {"stages", ordered_json::array({stage, stage, stage, stage})}};
}

ordered_json small_hardware() {
  return {{"description",
           "ideal: stages take the times that they state, and one link each way joins every two "
           "ranks. Machines and devices: penstock list hardware"},
          {"name", "ideal"},
          {"devices", 4},
          {"latency_us", 2},
          {"bandwidth_bytes_per_s", 25'000'000'000}};
}

ordered_json small_parallel() {
  return {{"description",
           "degrees of parallelism: their product is the number of devices. chunks: stages per "
           "pipeline rank"},
          {"pipeline", 4},
          {"chunks", 1},
          {"tensor", 1},
          {"data", 1}};
}

ordered_json small_overheads() {
  return {{"description", "time of the host to launch an action, and of an update of the weights"},
          {"launch_us", 0},
          {"optimizer_us", 0}};
}

}  // namespace

Starter find_starter(const TrainingRequest& request, const OnProgress& on_progress) {
  const Catalogue catalogue = read_catalogue();
  const TrainingTask task = read_training_task(request, catalogue);
  Starter starter;
  starter.plan = plan_layouts(task, catalogue,
                              {.best = 1,
                               .front = false,
                               .most_seconds = starter_seconds,
                               .on_progress = [&](const PlanProgress& now) {
                                 if (on_progress) on_progress("layouts", now.simulated, 0);
                               }});
  const LayoutPlan& plan = starter.plan;
  if (const JudgedLayout* best = plan.best()) {
    starter.text = layout_document(task, best->choice);
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
  const JudgedLayout& fastest = *plan.best();
  std::vector<std::string> lines{counts_text(plan), fastest_text(fastest.trial, fastest.choice)};
  if (plan.stopped) {
    lines.push_back(fmt::format(
        "stopped after {} s of every core: {}; penstock layout takes the time to judge them all",
        starter_seconds, others_text(plan)));
  }
  return lines;
}

std::string small_starter() {
  return printed(ordered_json{
      {"penstock", 1},
      {"description", "a pipeline of four equal stages, written by penstock new"},
      {"model", small_model()},
      {"hardware", small_hardware()},
      {"parallel", small_parallel()},
      {"schedule",
       {{"description", "the order of work (penstock list schedules); other keys are its options"},
        {"name", "1f1b"},
        {"microbatches", 8}}},
      {"memory",
       {{"description",
         "what a rank can hold, and what goes with its parameters: adam keeps gradients, master "
         "weights and moments"},
        {"capacity_bytes", 16'000'000'000},
        {"optimizer", "adam"},
        {"zero", 0}}},
      {"overheads", small_overheads()},
      {"chance",
       {{"description", "jitter: standard deviation of the logarithm of an action's time"},
        {"seed", 1},
        {"jitter", 0}}}});
}

}  // namespace penstock
