#include "experiments/run/layout/degrees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/input/files/table.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

std::uint32_t replicas_by_devices(const Scenario& scenario) {
  const ParallelSection& parallel = scenario.parallel;
  const auto& devices = scenario.hardware.devices;
  if (!devices || !parallel.pipeline) return 1;
  const std::uint64_t others =
      std::uint64_t{*parallel.pipeline} * parallel.tensor * parallel.context * parallel.expert;
  if (others == 0 || *devices % others != 0) {
    throw InputError(
        "/hardware/devices",
        fmt::format("{} cannot be divided by the {} that one copy of the pipeline takes",
                    counted(*devices, "device"), others));
  }
  return static_cast<std::uint32_t>(*devices / others);
}

/// Whether any layer of the model has experts.
bool has_experts(const ModelSpec& spec) {
  const auto has = [](const LayerSpec& part) { return part.numbers.contains("experts"); };
  return std::any_of(spec.blocks.begin(), spec.blocks.end(), [&](const BlockSpec& block) {
    return std::any_of(block.parts.begin(), block.parts.end(), has);
  });
}

/// Refuses an expert degree for a dense model, which would only waste devices.
void check_expert(const Scenario& scenario) {
  const std::uint32_t expert = scenario.parallel.expert;
  if (expert == 1 || !scenario.model.by_kind() || has_experts(scenario.model.spec)) return;
  throw InputError("/parallel/expert",
                   fmt::format("it is {}, but no layer of the model has experts; set it to 1, and "
                               "add replicas by /parallel/data",
                               expert));
}

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

Degrees settle_degrees(const Scenario& scenario) {
  check_expert(scenario);
  const ParallelSection& parallel = scenario.parallel;
  return {.tensor = parallel.tensor,
          .data = parallel.data ? *parallel.data : replicas_by_devices(scenario),
          .context = parallel.context,
          .expert = parallel.expert,
          .sequence_parallel = parallel.sequence,
          .overlaps_sums = parallel.overlap_sums.value_or(true),
          .overlaps_gathers = parallel.overlap_gathers,
          .bucket_bytes = parallel.bucket_bytes,
          .overlaps_experts = parallel.overlap_experts,
          .overlaps_tensor = parallel.overlap_tensor,
          .deduplicates = parallel.dispatcher ? std::optional(*parallel.dispatcher == Dispatcher::deduplicated) : std::nullopt,
          .scatters = parallel.scatter_gather && parallel.tensor > 1 && !parallel.sequence};
}

std::uint64_t devices_per_rank(const Degrees& degrees) {
  std::uint64_t product = 1;
  for (const std::uint32_t degree :
       {degrees.tensor, degrees.data, degrees.context, degrees.expert}) {
    product *= degree;
    if (product > (std::uint64_t{1} << 32)) {
      throw InputError("/parallel", "the degrees multiply to more than 2^32 devices a rank");
    }
  }
  return product;
}

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
