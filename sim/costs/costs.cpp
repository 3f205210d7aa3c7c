#include "sim/costs/costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/base/error.hpp"
#include "sim/costs/collective_times.hpp"
#include "sim/costs/stage_share.hpp"
#include "sim/order/placement.hpp"

namespace penstock {
namespace {

constexpr double most_picoseconds = 9e18;
constexpr double most_bytes = 9e18;

[[noreturn]] void too_long(const std::string& where) {
  throw InputError(where,
                   "the times of all actions add up to more than 104 days, which is as long "
                   "as the clock runs");
}

[[noreturn]] void too_large() {
  throw InputError("/model",
                   "the buffers of all actions add up to more than 9e18 bytes, which is as "
                   "much as is counted");
}

/// Rounds to the clock, if the clock can hold it.
Time checked_time(double microseconds) {
  if (microseconds * 1e6 > most_picoseconds) too_long("/model");
  return from_us(microseconds);
}

std::uint64_t checked_bytes(double bytes) {
  if (bytes > most_bytes) too_large();
  return static_cast<std::uint64_t>(std::llrint(bytes));
}

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

std::string in_layer(const Layer& layer) {
  return layer.name.empty() ? std::string() : fmt::format(" in layer \"{}\"", layer.name);
}

/// How long an action of a stage takes on one of its layers.
double layer_us(const WorkClass& work, const Layer& layer, const HardwareModel& hardware) {
  const bool again = work.recomputes || work.pass == Pass::recompute;
  const double again_us = again ? hardware.compute_us(layer, Pass::recompute).value_or(0) : 0;
  if (work.pass == Pass::recompute) return again_us;
  const auto time = hardware.compute_us(layer, work.pass);
  if (!time) {
    throw InputError(layer.source, fmt::format("{} is missing{}; the order runs {} of stage {}",
                                               field_for(work.pass), in_layer(layer),
                                               letters(work.pass), index(work.stage)));
  }
  return *time + again_us;
}

/// How long a pass over a layer encodes and decodes. What R needs is decoded by the B or I behind
/// it.
double codec_us(Pass pass, const CodecTimes& times) {
  switch (pass) {
    case Pass::forward:
      return times.forward_us;
    case Pass::backward:
    case Pass::backward_input:
      return times.backward_us;
    case Pass::backward_weight:
      return times.backward_weight_us;
    default:
      return 0;
  }
}

/// Where those lie who hold the same as a rank: in other data replicas or its own group, or on the
/// next rank.
Rank next_to(Rank rank, const StageShare& stage) {
  const bool across_ranks = stage.data == 1 && stage.ranks.size() > 1;
  return across_ranks ? next_holder(stage.ranks, rank) : data_replicas;
}

/// What prices one plan.
struct Prices {
  const Plan& plan;
  const ModelGraph& model;
  const Partition& partition;
  const HardwareModel& hardware;
  const Training& training;
  std::vector<StageShare> shares;  // by model stage
  CollectiveTimes collectives;

  Prices(const Plan& the_plan, const ModelGraph& the_model, const Partition& the_partition,
         const HardwareModel& the_hardware, const Training& the_training)
      : plan(the_plan),
        model(the_model),
        partition(the_partition),
        hardware(the_hardware),
        training(the_training),
        shares(stage_shares(plan, model, partition, training)),
        collectives(shares, training, hardware) {}

  std::uint32_t stage_of(const WorkClass& work) const {
    return plan.model_stage[index(work.stage)];
  }
};

/// How long what a pass carries itself takes.
double carrying_us(const WorkClass& work, Prices& prices) {
  const std::uint32_t stage = prices.stage_of(work);
  const std::vector<StageCollective> all = collectives_of(work, prices.training);
  const Carried carried = carried_by(all, prices.shares[stage], prices.training);
  if (carried.steps == 0) return 0;
  const Rank rank{work.resource};
  const TransferTime time =
      prices.collectives.of(stage, all, carried, {rank, next_to(rank, prices.shares[stage])});
  return time.occupies_us + time.latency_us;
}

/// Stated, or as long as memory takes to move what the optimiser reads and writes.
double update_us(const StageShare& stage, const Training& training) {
  if (training.update_bytes_per_s == 0) return training.optimizer_us;
  return training.optimizer_us +
         moved_by_update(stage, training) / training.update_bytes_per_s * 1e6;
}

double action_us(const WorkClass& work, Prices& prices) {
  const std::uint32_t stage = prices.stage_of(work);
  const Training& training = prices.training;
  if (work.pass == Pass::update) return update_us(prices.shares[stage], training);
  if (moves_stash(work.pass)) return 0;  // they only ask for a transfer
  double work_us = 0, coding_us = 0;
  for (const LayerIndex number : prices.partition.stages[stage]) {
    const Layer& layer = prices.model.layers[index(number)];
    work_us += layer_us(work, layer, prices.hardware);
    coding_us += codec_us(work.pass, layer.codec);
  }
  const double both_us =
      training.codecs_overlap ? std::max(work_us, coding_us) : work_us + coding_us;
  const double own_us = carrying_us(work, prices);
  return training.overlaps_sums ? std::max(both_us, own_us) : both_us + own_us;
}

/// The time of a transfer; fills in the size of its buffer where the tail decides it.
TransferTime transfer_time(const WorkClass& work, Prices& prices, Costs& costs) {
  const Link& link = prices.plan.link(work.resource);
  std::uint64_t& bytes = costs.bytes[work.buffer];
  if (work.pass == Pass::tie_gradient) bytes = checked_bytes(prices.training.tied_embedding_bytes);
  const std::vector<StageCollective> all = collectives_of(work, prices.training);
  if (all.empty()) {
    return prices.hardware.transfer(static_cast<double>(bytes), link.from, link.to);
  }
  const std::uint32_t stage = prices.stage_of(work);
  Carried carried = carried_by(all, prices.shares[stage], prices.training);
  bytes = checked_bytes(carried.bytes);
  carried.bytes = static_cast<double>(bytes);
  return prices.collectives.of(stage, all, carried, link);
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
  if (bytes > most_bytes) too_large();
}

}  // namespace

Costs price(const Plan& plan, const ModelGraph& model, const Partition& partition,
            const HardwareModel& hardware, const Training& training) {
  Prices prices(plan, model, partition, hardware, training);
  Costs costs;
  for (const BufferClass& buffer : plan.buffers) {
    const StageShare& share = prices.shares[plan.model_stage[index(buffer.stage)]];
    costs.bytes.push_back(checked_bytes(bytes_of(buffer.kind, share, training)));
  }
  for (const WorkClass& work : plan.classes) {
    TransferTime time;
    if (is_transfer(work.pass)) {
      time = transfer_time(work, prices, costs);
    } else {
      time.occupies_us = action_us(work, prices);
    }
    costs.duration.push_back(checked_time(time.occupies_us));
    costs.latency.push_back(checked_time(time.latency_us));
  }
  fuse_durations(plan, costs.duration);
  check_totals(plan, costs);
  return costs;
}

void check_clock(const Plan& plan, const Costs& costs, const std::string& where, double stretch) {
  // No more launches stand in front of a task than there are tasks.
  double picoseconds = static_cast<double>(costs.launch.picoseconds) +
                       static_cast<double>(costs.issue.picoseconds) * plan.tasks();
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    picoseconds += static_cast<double>(costs.duration_of(plan, task).picoseconds) * stretch +
                   static_cast<double>(costs.latency_of(plan, task).picoseconds);
  }
  if (picoseconds > most_picoseconds) too_long(where);
}

}  // namespace penstock
