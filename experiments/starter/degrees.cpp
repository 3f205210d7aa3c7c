#include "experiments/starter/degrees.hpp"

#include <cstdint>

#include "sim/base/limits.hpp"

namespace penstock {
namespace {

std::vector<std::uint32_t> divisors(std::uint32_t number) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t divisor = 1; divisor <= number; ++divisor) {
    if (number % divisor == 0) all.push_back(divisor);
  }
  return all;
}

/// A tensor group must divide the heads and stay inside a machine; otherwise every layer's
/// activations would cross NICs. Layers that state their times cannot be split.
bool allows_tensor(const TrainingTask& task, std::uint32_t tensor) {
  if (tensor == 1) return true;
  if (!task.by_kind || task.heads % tensor != 0 || tensor > task.machine_devices) return false;
  return task.machine_devices % tensor == 0 || task.devices <= task.machine_devices;
}

}  // namespace

bool cuts_evenly(std::uint64_t layers, std::uint64_t stages) {
  if (stages > layers || stages > Limits::ranks) return false;
  const std::uint64_t largest = (layers + stages - 1) / stages;
  return 10 * layers >= 9 * stages * largest;
}

namespace {

void add_replicas(const TrainingTask& task, LayoutChoice choice, std::vector<LayoutChoice>& all) {
  const std::uint32_t rest = task.devices / choice.tensor / choice.pipeline;
  for (const std::uint32_t expert : divisors(rest)) {
    if (task.experts % expert != 0) continue;
    choice.expert = expert;
    choice.data = rest / expert;
    choice.zero = choice.has_replicas() ? 1 : 0;
    if (share_batch(task, choice)) all.push_back(choice);
  }
}

}  // namespace

bool share_batch(const TrainingTask& task, LayoutChoice& choice) {
  const std::uint64_t at_a_time = std::uint64_t{choice.data} * choice.expert * choice.microbatch;
  const std::uint64_t count = task.global_batch / at_a_time;
  choice.microbatches = static_cast<std::uint32_t>(count);
  return count > 0 && count <= most_replica_microbatches && task.global_batch % at_a_time == 0;
}

std::vector<LayoutChoice> possible_degrees(const TrainingTask& task) {
  std::vector<LayoutChoice> all;
  for (const std::uint32_t tensor : divisors(task.devices)) {
    if (!allows_tensor(task, tensor)) continue;
    for (const std::uint32_t pipeline : divisors(task.devices / tensor)) {
      if (!cuts_evenly(task.layers, pipeline)) continue;
      add_replicas(task, {.tensor = tensor, .pipeline = pipeline, .microbatch = task.microbatch},
                   all);
    }
  }
  return all;
}

}  // namespace penstock
