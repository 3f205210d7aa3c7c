#include "sim/costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "sim/error.hpp"

namespace penstock {
namespace {

/// The field of a layer that would have told how long a pass takes.
std::string_view field_for(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "forward_us";
    case Pass::backward:
      return "backward_us, or backward_input_us and backward_weight_us,";
    case Pass::backward_input:
      return "backward_input_us";
    default:
      return "backward_weight_us";
  }
}

/// How long an action takes that passes over no layer; nothing for those that do. The optimiser
/// step is free, and E and L only ask for a transfer.
std::optional<double> without_layers_us(Pass pass) {
  if (pass == Pass::update || moves_stash(pass)) return 0;
  return std::nullopt;
}

double compute_us(const WorkClass& work, std::span<const LayerIndex> layers,
                  const ModelGraph& model, const HardwareModel& hardware) {
  if (const auto time = without_layers_us(work.pass)) return *time;
  double sum = 0;
  for (LayerIndex index_of_layer : layers) {
    const Layer& layer = model.layers[index(index_of_layer)];
    const auto time = hardware.compute_us(layer, work.pass);
    if (!time) {
      throw InputError(layer.source,
                       fmt::format("{} is missing; the order runs {} of stage {}",
                                   field_for(work.pass), letters(work.pass), index(work.stage)));
    }
    sum += *time;
    if (gives_gradient(work.pass)) {
      sum += hardware.compute_us(layer, Pass::recompute).value_or(0);
    }
  }
  return sum;
}

std::uint64_t bytes_of(const BufferClass& buffer, const StageSizes& sizes) {
  switch (buffer.kind) {
    case BufferKind::parameters:
    case BufferKind::versions:
      return static_cast<std::uint64_t>(std::llrint(sizes.parameter_bytes));
    case BufferKind::stash:
      return static_cast<std::uint64_t>(std::llrint(sizes.stash_bytes));
    default:
      return static_cast<std::uint64_t>(std::llrint(sizes.activation_bytes));
  }
}

/// A fused cell lasts as long as its longer part; the second part adds nothing to the first.
void fuse_durations(const Plan& plan, std::vector<Time>& duration) {
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const WorkClass& work = plan.classes[c];
    if (work.partner == UINT32_MAX || work.follows_partner) continue;
    duration[c] = std::max(duration[c], duration[work.partner]);
  }
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    if (plan.classes[c].follows_partner) duration[c] = {};
  }
}

constexpr double most_picoseconds = 9e18;
constexpr double most_bytes = 9e18;

[[noreturn]] void too_long(const std::string& where) {
  throw InputError(where,
                   "the times of all actions add up to more than 104 days, which is as long "
                   "as the clock runs");
}

/// Rounds to the clock, if the clock can hold it.
Time checked_time(double microseconds) {
  if (microseconds * 1e6 > most_picoseconds) too_long("/model");
  return from_us(microseconds);
}

/// Nothing that adds durations or sizes up later can overflow after this.
void check_totals(const Plan& plan, const Costs& costs) {
  std::vector<double> count(plan.classes.size());
  for (const std::uint32_t work : plan.work) count[work] += 1;
  double picoseconds = 0;
  double bytes = 0;
  for (const std::uint64_t size : costs.bytes) bytes += static_cast<double>(size);
  for (std::size_t c = 0; c < count.size(); ++c) {
    picoseconds += count[c] * (static_cast<double>(costs.duration[c].picoseconds) +
                               static_cast<double>(costs.latency[c].picoseconds));
    for (const MemoryEffect& effect : plan.classes[c].effects) {
      if (effect.takes) bytes += count[c] * static_cast<double>(costs.bytes[effect.buffer]);
    }
  }
  if (picoseconds > most_picoseconds) too_long("/model");
  if (bytes > most_bytes) {
    throw InputError("/model",
                     "the buffers of all actions add up to more than 9e18 bytes, which is as "
                     "much as is counted");
  }
}

}  // namespace

Costs price(const Plan& plan, const ModelGraph& model, const Partition& partition,
            const HardwareModel& hardware) {
  const std::vector<StageSizes> sizes = stage_sizes(model, partition);
  const auto sizes_of = [&](Stage stage) { return sizes[plan.model_stage[index(stage)]]; };
  Costs costs;
  costs.duration.resize(plan.classes.size());
  costs.latency.resize(plan.classes.size());
  for (const BufferClass& buffer : plan.buffers) {
    costs.bytes.push_back(bytes_of(buffer, sizes_of(buffer.stage)));
  }
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const WorkClass& work = plan.classes[c];
    if (is_transfer(work.pass)) {
      const Link& link = plan.link(work.resource);
      const TransferTime time =
          hardware.transfer(static_cast<double>(costs.bytes[work.buffer]), link.from, link.to);
      costs.duration[c] = checked_time(time.occupies_us);
      costs.latency[c] = checked_time(time.latency_us);
    } else {
      const auto& layers = partition.stages[plan.model_stage[index(work.stage)]];
      costs.duration[c] = checked_time(compute_us(work, layers, model, hardware));
    }
  }
  fuse_durations(plan, costs.duration);
  check_totals(plan, costs);
  return costs;
}

void check_clock(const Plan& plan, const Costs& costs, const std::string& where) {
  // No more launches stand in front of a task than there are tasks.
  double picoseconds = static_cast<double>(costs.launch.picoseconds) +
                       static_cast<double>(costs.issue.picoseconds) * plan.tasks();
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    picoseconds += static_cast<double>(costs.duration_of(plan, task).picoseconds) +
                   static_cast<double>(costs.latency_of(plan, task).picoseconds);
  }
  if (picoseconds > most_picoseconds) too_long(where);
}

}  // namespace penstock
