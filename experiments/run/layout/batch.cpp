#include "experiments/run/layout/batch.hpp"

#include <fmt/format.h>

#include <cmath>

#include "experiments/input/files/table.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

/// Each device of an expert group works on its own examples.
double members_of(const Scenario& scenario) {
  return scenario.model.by_kind() ? scenario.parallel.expert : 1;
}

void check_samples(const Scenario& scenario) {
  const auto& examples = scenario.model.microbatch;
  const auto& samples = scenario.schedule.samples_per_microbatch;
  const double members = members_of(scenario);
  if (!examples || !samples || *samples == *examples * members) return;
  const std::string each =
      members > 1 ? fmt::format(" on each of {} devices of an expert group", members) : "";
  throw InputError("/schedule/samples_per_microbatch",
                   fmt::format("it is {}, but a microbatch of {}{} has {}; leave it out", *samples,
                               *examples, each, *examples * members));
}

/// Examples of a microbatch on one device.
std::optional<double> examples_of(const Scenario& scenario) {
  if (scenario.model.microbatch || !scenario.model.by_kind()) return scenario.model.microbatch;
  const double members = members_of(scenario);
  const auto& samples = scenario.schedule.samples_per_microbatch;
  const double examples = samples.value_or(members) / members;
  if (has_tokens(scenario.model.spec) && examples != std::floor(examples)) {
    throw InputError("/schedule/samples_per_microbatch",
                     fmt::format("{} cannot be divided by the expert group's {}, each of which has "
                                 "examples of its own",
                                 *samples, counted(std::uint64_t(members), "device")));
  }
  return examples;
}

std::optional<std::uint32_t> microbatches_of(const Scenario& scenario, double samples,
                                             const Degrees& degrees) {
  const ScheduleSection& schedule = scenario.schedule;
  if (schedule.microbatches || !schedule.global_batch) return schedule.microbatches;
  const double each = samples * degrees.data;
  const double count = *schedule.global_batch / each;
  if (count >= 1 && count <= Limits::microbatches && count == std::floor(count)) {
    return static_cast<std::uint32_t>(count);
  }
  throw InputError("/schedule/microbatches",
                   fmt::format("a batch of {} does not divide by the {} examples that all replicas "
                               "work on at a time; give the number of microbatches",
                               *schedule.global_batch, each));
}

}  // namespace

Batch settle_batch(const Scenario& scenario, const Degrees& degrees) {
  check_samples(scenario);
  Batch batch;
  batch.sequence = scenario.model.sequence;
  if (has_tokens(scenario.model.spec) && !batch.sequence) {
    batch.sequence = usual_sequence(scenario.model.max_sequence);
  }
  batch.microbatch = examples_of(scenario);
  batch.samples_per_microbatch = scenario.schedule.samples_per_microbatch.value_or(
      batch.microbatch.value_or(1) * members_of(scenario));
  batch.microbatches = microbatches_of(scenario, batch.samples_per_microbatch, degrees);
  if (scenario.schedule.file.empty() && !batch.microbatches) {
    throw InputError("/schedule/microbatches",
                     "\"microbatches\" is missing; a rule needs their number");
  }
  return batch;
}

}  // namespace penstock
