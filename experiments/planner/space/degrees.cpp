#include "experiments/planner/space/degrees.hpp"

#include "sim/base/limits.hpp"

namespace penstock {

bool cuts_evenly(std::uint64_t layers, std::uint64_t stages) {
  if (stages > layers || stages > Limits::ranks) return false;
  const std::uint64_t largest = (layers + stages - 1) / stages;
  return 10 * layers >= 9 * stages * largest;
}

namespace {

void add_replicas(const TrainingTask& task, LayoutChoice choice, std::vector<LayoutChoice>& all) {
  const std::uint32_t rest = task.devices / choice.tensor / choice.pipeline;
  for (const std::uint32_t expert : divisors(rest)) {
    choice.expert = expert;
    choice.data = rest / expert;
    choice.zero = choice.has_replicas() ? 1 : 0;
    if (why_no_degrees(task, choice) == nullptr) all.push_back(choice);
  }
}

}  // namespace

std::vector<std::uint32_t> divisors(std::uint32_t number) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t divisor = 1; divisor <= number; ++divisor) {
    if (number % divisor == 0) all.push_back(divisor);
  }
  return all;
}

bool share_batch(const TrainingTask& task, LayoutChoice& choice) {
  const std::uint64_t at_a_time = std::uint64_t{choice.data} * choice.expert * choice.microbatch;
  const std::uint64_t count = task.global_batch / at_a_time;
  choice.microbatches = static_cast<std::uint32_t>(count);
  return count > 0 && count <= most_replica_microbatches && task.global_batch % at_a_time == 0;
}

/// A group across machines would send every layer's activations over NICs. Layers that state their
/// times cannot be split.
const char* why_no_tensor(const TrainingTask& task, std::uint32_t tensor) {
  if (tensor == 1) return nullptr;
  if (!task.by_kind) return "layers that state their times are not split";
  if (task.heads % tensor != 0) return "tensor degree does not divide the attention heads";
  const bool inside = tensor <= task.machine_devices &&
                      (task.machine_devices % tensor == 0 || task.devices <= task.machine_devices);
  return inside ? nullptr : "tensor group does not stay inside a machine";
}

const char* why_no_degrees(const TrainingTask& task, LayoutChoice& choice) {
  if (const char* why = why_no_tensor(task, choice.tensor)) return why;
  if (choice.context > 1 && (!task.by_kind || !task.sequence)) {
    return "only sequences of tokens are split over a context group";
  }
  if (choice.context > 1 && *task.sequence % choice.context != 0) {
    return "context degree does not divide the sequence";
  }
  if (task.experts % choice.expert != 0) return "expert degree does not divide the experts";
  if (choice.pipeline > task.layers || choice.pipeline > Limits::ranks) {
    return "more pipeline stages than layers";
  }
  return share_batch(task, choice) ? nullptr : "the batch does not divide into microbatches";
}

std::vector<LayoutChoice> possible_degrees(const TrainingTask& task) {
  std::vector<LayoutChoice> all;
  for (const std::uint32_t tensor : divisors(task.devices)) {
    if (why_no_tensor(task, tensor) != nullptr) continue;
    for (const std::uint32_t pipeline : divisors(task.devices / tensor)) {
      if (!cuts_evenly(task.layers, pipeline)) continue;
      add_replicas(task, {.tensor = tensor, .pipeline = pipeline, .microbatch = task.microbatch},
                   all);
    }
  }
  return all;
}

}  // namespace penstock
