#include "experiments/plan/planner/space/degrees.hpp"

#include "sim/base/limits.hpp"

namespace penstock {

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

}  // namespace penstock
