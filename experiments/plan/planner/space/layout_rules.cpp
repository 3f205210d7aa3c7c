#include "experiments/plan/planner/space/layout_rules.hpp"

#include <algorithm>
#include <numeric>

#include "experiments/plan/planner/space/framework.hpp"
#include "experiments/run/layout/training.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

/// The layers of a stage that an even cut makes, at most, without those at an end.
std::uint32_t layers_a_stage(const TrainingTask& task, const LayoutChoice& degrees,
                             const OrderChoice& order) {
  const std::uint64_t stages = std::max<std::uint64_t>(
      1, std::uint64_t{degrees.pipeline} * order.chunks / order.rule->copies);
  return static_cast<std::uint32_t>(task.uncut + (task.layers + stages - 1) / stages);
}

/// Data replicas that hold all experts once together.
std::uint32_t expert_spread(const LayoutChoice& degrees) {
  const std::uint32_t shares = degrees.expert * degrees.expert_tensor.value_or(degrees.tensor);
  return shares / std::gcd(shares, degrees.tensor * degrees.context);
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

/// Sets the microbatches of a layout for its share of the batch. False if the batch does not
/// divide, or into too many.
bool share_batch(const TrainingTask& task, LayoutChoice& choice) {
  const std::uint64_t at_a_time = std::uint64_t{choice.data} * choice.microbatch;
  const std::uint64_t count = task.global_batch / at_a_time;
  choice.microbatches = static_cast<std::uint32_t>(count);
  return count > 0 && count <= most_replica_microbatches && task.global_batch % at_a_time == 0;
}

}  // namespace

const char* why_no_order(const TrainingTask& task, const LayoutChoice& degrees,
                         const OrderChoice& order) {
  if (order.why_not != nullptr) return order.why_not;
  if (degrees.pipeline == 1 && order.rule->name != "1f1b") {
    return "without a pipeline 1f1b alone is tried";
  }
  if (order.hides_experts) {
    if (const char* why = why_no_hiding(degrees.pipeline, order.chunks, degrees.expert)) return why;
  }
  if (task.framework != nullptr) {
    const char* why = task.framework->why_no_overlap(order.fused, order.hides_experts);
    if (why != nullptr) return why;
  }
  if (degrees.pipeline == 1) return nullptr;
  const std::uint64_t stages = std::uint64_t{degrees.pipeline} * order.chunks / order.rule->copies;
  if (stages > task.blocks) return "more stages than layers, embedding and head";
  if (order.rule->copies > 1 && degrees.pipeline % 2 != 0) {
    return "bidirectional orders need an even number of ranks";
  }
  const std::uint64_t cells = std::uint64_t{degrees.context} * order.slices;
  if (order.slices > 1 && (!task.sequence || *task.sequence % cells != 0)) {
    return "slices do not divide the sequence";
  }
  return task.framework == nullptr ? nullptr : task.framework->why_no_order(task, degrees, order);
}

const char* why_no_zero(const TrainingTask& task, const LayoutChoice& degrees,
                        const OrderChoice& order, std::uint32_t zero) {
  if (zero > 0 && !degrees.has_replicas() && order.rule->copies == 1) {
    return "ZeRO needs replicas to shard over";
  }
  if (zero > 0 && degrees.data % task.shard_groups != 0) {
    return "groups that shard do not divide the data replicas";
  }
  if (zero > 0 && expert_spread(degrees) > degrees.data / task.shard_groups) {
    return "a group that shards does not have all experts";
  }
  return task.framework == nullptr ? nullptr : task.framework->why_no_zero(task, degrees, zero);
}

bool takes_zero(const TrainingTask& task, const LayoutChoice& degrees, const OrderChoice& order,
                std::uint32_t zero) {
  return why_no_zero(task, degrees, order, zero) == nullptr;
}

std::uint32_t some_layers(const TrainingTask& task, const LayoutChoice& degrees,
                          const OrderChoice& order, const RecomputeChoice& recompute) {
  if (recompute.quarters == 0) return recompute.layers;
  return (layers_a_stage(task, degrees, order) * recompute.quarters + 2) / 4;
}

const char* why_no_recomputation(const TrainingTask& task, const LayoutChoice& degrees,
                                 const OrderChoice& order, const RecomputeChoice& recompute) {
  if (order.hides_experts && recompute.mode == "full") {
    return "where expert traffic is hidden, no whole layers are recomputed";
  }
  if (recompute.offloads && task.framework != nullptr) {
    const std::uint32_t layers = some_layers(task, degrees, order, recompute);
    if (const char* why = task.framework->why_no_offload(task, degrees, layers)) return why;
  }
  if (recompute.quarters % 4 == 0) return nullptr;
  const std::uint32_t all = layers_a_stage(task, degrees, order);
  RecomputeChoice fewer = recompute;
  --fewer.quarters;
  const std::uint32_t some = some_layers(task, degrees, order, recompute);
  const bool different = some < all && some != some_layers(task, degrees, order, fewer);
  return different ? nullptr : "a stage has fewer layers than shares of them";
}

const char* why_no_degrees(const TrainingTask& task, LayoutChoice& choice) {
  if (const char* why = why_no_tensor(task, choice.tensor)) return why;
  if (choice.context > 1 && (!task.by_kind || !task.sequence)) {
    return "only sequences of tokens are split over a context group";
  }
  if (choice.context > 1 && *task.sequence % choice.context != 0) {
    return "context degree does not divide the sequence";
  }
  if (task.experts % choice.expert != 0) return no_such_experts;
  if (choice.pipeline > task.blocks || choice.pipeline > Limits::ranks) {
    return "more pipeline stages than layers";
  }
  if (!share_batch(task, choice)) return "the batch does not divide into microbatches";
  return task.framework == nullptr ? nullptr : task.framework->why_no_degrees(task, choice);
}

}  // namespace penstock
