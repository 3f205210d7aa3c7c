#include "experiments/plan/planner/space/with_choice.hpp"

namespace penstock {
namespace {

RecomputeMode mode_of(const std::string& name) {
  if (name == "full") return RecomputeMode::full;
  if (name == "selective") return RecomputeMode::selective;
  return name == "except_last" ? RecomputeMode::except_last : RecomputeMode::none;
}

void set_parallel(const LayoutChoice& choice, ParallelSection& parallel) {
  parallel.pipeline = choice.pipeline;
  parallel.chunks = choice.chunks;
  parallel.tensor = choice.tensor;
  parallel.data = choice.data;
  parallel.context = choice.context;
  parallel.expert = choice.expert;
  parallel.sequence = choice.tensor > 1 && choice.sequence_parallel;
}

void set_schedule(const LayoutChoice& choice, ScheduleSection& schedule) {
  schedule.name = choice.schedule;
  schedule.microbatches = choice.microbatches;
  schedule.settings = choice.options;
}

}  // namespace

Scenario with_choice(Scenario scenario, const TrainingTask& task, const LayoutChoice& choice) {
  if (task.states_microbatch) scenario.model.microbatch = choice.microbatch;
  set_parallel(choice, scenario.parallel);
  set_schedule(choice, scenario.schedule);
  scenario.recompute.mode = mode_of(choice.recompute);
  if (choice.recomputes_stages) scenario.recompute.unit = RecomputeUnit::stage;
  scenario.memory.zero = choice.zero;
  if (choice.offload) scenario.offload = Offload{*choice.offload};
  if (choice.stash) scenario.codec.stash = *choice.stash;
  if (choice.link) scenario.codec.link = *choice.link;
  scenario.partition.name = choice.partition;
  return scenario;
}

}  // namespace penstock
