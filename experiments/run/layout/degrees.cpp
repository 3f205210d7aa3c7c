#include "experiments/run/layout/degrees.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "experiments/input/files/table.hpp"
#include "hardware_models/model/model_layers.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

/// Data replicas that the rest of the devices make; nothing where the number of devices is open.
std::optional<std::uint32_t> replicas_by_devices(const Scenario& scenario) {
  const ParallelSection& parallel = scenario.parallel;
  const auto& devices = scenario.hardware.devices;
  if (!devices || !parallel.pipeline) return std::nullopt;
  const std::uint64_t others =
      std::uint64_t{*parallel.pipeline} * parallel.tensor * parallel.context;
  if (others == 0 || *devices % others != 0) {
    throw InputError(
        "/hardware/devices",
        fmt::format("{} cannot be divided by the {} that one copy of the pipeline takes",
                    counted(*devices, "device"), others));
  }
  return static_cast<std::uint32_t>(*devices / others);
}

/// The least that has to multiply `number` for `divisor` to divide it.
std::uint64_t lacking(std::uint64_t number, std::uint64_t divisor) {
  return divisor / std::gcd(number, divisor);
}

/// The fewest data replicas whose devices hold all experts.
std::uint64_t replicas_for_experts(const ParallelSection& parallel) {
  if (!parallel.expert_tensor) return lacking(parallel.context, parallel.expert);
  return lacking(std::uint64_t{parallel.tensor} * parallel.context,
                 std::uint64_t{parallel.expert} * *parallel.expert_tensor);
}

/// Refuses degrees of experts for a model without any.
void check_experts_of_model(const Scenario& scenario) {
  const ParallelSection& parallel = scenario.parallel;
  if (parallel.expert == 1 && !parallel.expert_tensor) return;
  if (scenario.model.by_kind() && has_experts(scenario.model.spec)) return;
  const char* why = scenario.model.by_kind() ? "no layer of the model has experts"
                                             : "layers that state their costs have no experts";
  if (parallel.expert > 1) {
    throw InputError("/parallel/expert",
                     fmt::format("it is {}, but {}; leave it out", parallel.expert, why));
  }
  throw InputError("/parallel/expert_tensor",
                   fmt::format("it is {}, but {}; leave it out", *parallel.expert_tensor, why));
}

/// The largest divisors of a number, up to a bound: "1, 2, 4".
std::string divisors_text(std::uint64_t number, std::uint64_t most) {
  constexpr std::size_t listed = 6;
  std::vector<std::uint64_t> all;
  for (std::uint64_t one = most; one > 0 && all.size() < listed; --one) {
    if (number % one == 0) all.insert(all.begin(), one);
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

/// Where experts used to add devices, the same devices are those of as many more data replicas.
[[noreturn]] void refuse_expert(const ParallelSection& parallel, std::uint32_t data) {
  const std::uint64_t all = std::uint64_t{parallel.tensor} * parallel.context * data;
  const std::uint64_t shared = parallel.expert_tensor.value_or(1);
  throw InputError(
      "/parallel/expert",
      fmt::format("{}{} does not divide the {} of tensor {} x context {} x data {}. Experts divide "
                  "these devices and add none: set expert to one of {}; or, where experts used to "
                  "multiply the devices, /parallel/data to {} (data x expert)",
                  parallel.expert, shared > 1 ? fmt::format(" x expert_tensor {}", shared) : "",
                  counted(all, "device"), parallel.tensor, parallel.context, data,
                  divisors_text(all / std::gcd(all, shared), parallel.expert),
                  std::uint64_t{data} * parallel.expert));
}

void check_expert_tensor(const ParallelSection& parallel) {
  if (!parallel.expert_tensor || parallel.tensor % *parallel.expert_tensor == 0) return;
  throw InputError("/parallel/expert_tensor",
                   fmt::format("{} does not divide tensor {}: devices that share an expert are "
                               "part of a tensor group; it may be {}",
                               *parallel.expert_tensor, parallel.tensor,
                               divisors_text(parallel.tensor, parallel.tensor)));
}

/// Devices that share an expert: those stated; else the tensor group where the experts divide data
/// x context, as Megatron-LM has it; else one. Throws where the experts fit in neither way.
std::uint32_t expert_tensor_of(const ParallelSection& parallel, std::uint32_t data) {
  check_expert_tensor(parallel);
  const std::uint64_t replicas = std::uint64_t{data} * parallel.context;
  const std::uint64_t all = replicas * parallel.tensor;
  if (!parallel.expert_tensor && replicas % parallel.expert == 0) return parallel.tensor;
  const std::uint32_t stated = parallel.expert_tensor.value_or(1);
  if (all % (std::uint64_t{parallel.expert} * stated) != 0) refuse_expert(parallel, data);
  return stated;
}

void check_samples(const Scenario& scenario) {
  const auto& examples = scenario.model.microbatch;
  const auto& samples = scenario.schedule.samples_per_microbatch;
  if (!examples || !samples || *samples == *examples) return;
  throw InputError("/schedule/samples_per_microbatch",
                   fmt::format("it is {}, but a microbatch of {} has {}; leave it out", *samples,
                               *examples, *examples));
}

/// Examples of a microbatch: as stated, else of a command its part of the global batch.
std::optional<double> examples_of(const Scenario& scenario, const Degrees& degrees) {
  const ScheduleSection& schedule = scenario.schedule;
  if (scenario.model.microbatch || !scenario.model.by_kind()) return scenario.model.microbatch;
  if (schedule.samples_per_microbatch) return schedule.samples_per_microbatch;
  if (!schedule.of_command) return 1;
  if (!schedule.microbatches || !schedule.global_batch) {
    throw InputError("/model/microbatch",
                     "the command states no examples of a microbatch: add --micro-batch-size or "
                     "train_micro_batch_size_per_gpu there, or give them here");
  }
  const double parts = static_cast<double>(*schedule.microbatches) * degrees.data;
  const double examples = *schedule.global_batch / parts;
  if (examples >= 1 && examples == std::floor(examples)) return examples;
  throw InputError("/model/microbatch",
                   fmt::format("the command's batch of {} does not divide into {} microbatches; "
                               "give the examples of one",
                               *schedule.global_batch, parts));
}

std::optional<std::uint32_t> microbatches_of(const Scenario& scenario, double samples,
                                             const Degrees& degrees) {
  const ScheduleSection& schedule = scenario.schedule;
  if (!schedule.global_batch) return schedule.microbatches;
  const double each = samples * degrees.data;
  if (schedule.microbatches) {
    const bool conflicts = *schedule.microbatches * each != *schedule.global_batch;
    if (!schedule.of_command || !conflicts) return schedule.microbatches;
    throw InputError("/schedule/microbatches",
                     fmt::format("the command's batch is {}, but {} microbatches of {:g} on {} "
                                 "replicas are {:g} examples; give the number of microbatches",
                                 *schedule.global_batch, *schedule.microbatches, samples,
                                 degrees.data, *schedule.microbatches * each));
  }
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
  check_experts_of_model(scenario);
  const ParallelSection& parallel = scenario.parallel;
  const std::uint32_t data = parallel.data
                                 ? *parallel.data
                                 : replicas_by_devices(scenario).value_or(
                                       static_cast<std::uint32_t>(replicas_for_experts(parallel)));
  return {.tensor = parallel.tensor,
          .data = data,
          .context = parallel.context,
          .expert = parallel.expert,
          .expert_tensor = expert_tensor_of(parallel, data),
          .sequence_parallel = parallel.sequence,
          .overlaps_sums = parallel.overlap_sums.value_or(true),
          .overlaps_gathers = parallel.overlap_gathers,
          .bucket_bytes = parallel.bucket_bytes,
          .overlaps_experts = parallel.overlap_experts,
          .overlaps_shared = parallel.overlap_shared_expert,
          .narrow_gathers = parallel.narrow_gathers,
          .overlaps_tensor = parallel.overlap_tensor,
          .deduplicates = parallel.dispatcher
                              ? std::optional(*parallel.dispatcher == TokenDispatch::deduplicated)
                              : std::nullopt,
          .scatters = parallel.scatter_gather && parallel.tensor > 1 && !parallel.sequence};
}

std::uint64_t devices_per_rank(const Degrees& degrees) {
  std::uint64_t product = 1;
  for (const std::uint32_t degree : {degrees.tensor, degrees.data, degrees.context}) {
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
  batch.microbatch = examples_of(scenario, degrees);
  batch.sequence = scenario.model.sequence;
  if (has_tokens(scenario.model.spec) && !batch.sequence) {
    const bool stated = scenario.batch && scenario.batch->tokens;
    batch.sequence = stated ? *scenario.batch->tokens / batch.microbatch.value_or(1)
                            : usual_sequence(scenario.model.max_sequence);
  }
  if (const std::string why = why_no_sequence(scenario.model.spec, scenario.model.max_sequence,
                                              batch.sequence.value_or(0));
      batch.sequence && !scenario.batch && !why.empty()) {
    throw InputError("/model/sequence", why);
  }
  batch.samples_per_microbatch =
      scenario.schedule.samples_per_microbatch.value_or(batch.microbatch.value_or(1));
  batch.microbatches = microbatches_of(scenario, batch.samples_per_microbatch, degrees);
  if (scenario.schedule.file.empty() && !batch.microbatches) {
    throw InputError("/schedule/microbatches",
                     "\"microbatches\" is missing; a rule needs their number");
  }
  return batch;
}

}  // namespace penstock
