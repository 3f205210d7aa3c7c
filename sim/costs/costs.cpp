#include "sim/costs/costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "sim/base/error.hpp"
#include "sim/costs/alike_in_row.hpp"
#include "sim/costs/collective_times.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/costs/layer_turns.hpp"
#include "sim/costs/step_end.hpp"
#include "sim/order/placement.hpp"

namespace penstock {
namespace {

constexpr double most_picoseconds = 9e18;
constexpr double most_bytes = 9e18;

[[noreturn]] void too_long(const std::string& where) {
  throw InputError(where,
                   "the times of all actions add up to more than 104 days, the range of the clock");
}

[[noreturn]] void too_large() {
  throw InputError("/model",
                   "the buffers of all actions add up to more than 9e18 bytes, the largest total "
                   "supported");
}

/// Rounds to the clock; throws when out of range.
Time checked_time(double microseconds) {
  if (!(microseconds * 1e6 <= most_picoseconds)) too_long("/model");
  return from_us(microseconds);
}

std::uint64_t checked_bytes(double bytes) {
  if (bytes > most_bytes) too_large();
  return static_cast<std::uint64_t>(std::llrint(bytes));
}

/// The layer field that is missing for a pass.
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

/// Whether recomputation of its stage repeats anything of a layer.
bool is_repeated(const Layer& layer) { return layer.work.repeated != Repeated::nothing; }

/// The time of a pass over a layer, of hardware that may be anybody's; nothing when unknown.
std::optional<double> pass_us(const Layer& layer, Pass pass, const HardwareModel& hardware) {
  const auto time = hardware.compute_us(layer, pass);
  if (!time || *time >= 0) return time;
  throw InputError(layer.source,
                   fmt::format("the hardware gives {} us for {}{}; a time is 0 or more", *time,
                               letters(pass), in_layer(layer)));
}

/// The time of an action on one layer of its stage.
double layer_us(const WorkClass& work, const Layer& layer, const HardwareModel& hardware) {
  const bool again = work.recomputes || work.pass == Pass::recompute;
  const double again_us =
      again && is_repeated(layer) ? pass_us(layer, Pass::recompute, hardware).value_or(0) : 0;
  if (work.pass == Pass::recompute) return again_us;
  const auto time = pass_us(layer, work.pass, hardware);
  if (!time) {
    throw InputError(layer.source, fmt::format("{} is missing{}; the order runs {} of stage {}",
                                               field_for(work.pass), in_layer(layer),
                                               letters(work.pass), index(work.stage)));
  }
  return *time + again_us;
}

/// The next holder of the same weights: in the other data replicas, the rank's own group, or the
/// next rank.
Rank next_to(Rank rank, const StageDemand& stage, std::uint32_t data) {
  const bool across_ranks = data == 1 && stage.ranks.size() > 1;
  return across_ranks ? next_holder(stage.ranks, rank) : data_replicas;
}

/// Everything that prices one plan.
struct Prices : CostInputs {
  CollectiveTimes collectives;
  std::vector<std::uint32_t> lowest_updated;  // by rank: a stage

  explicit Prices(const CostInputs& inputs)
      : CostInputs(inputs), collectives(demand, hardware), lowest_updated(plan.ranks, UINT32_MAX) {
    for (const WorkClass& work : plan.classes) {
      if (work.pass != Pass::update) continue;
      std::uint32_t& lowest = lowest_updated[work.resource];
      lowest = std::min(lowest, index(work.stage));
    }
  }

  /// The time of an action beyond its layers.
  double extra_us(const WorkClass& work) const {
    const double own_us = demand.stages[stage_of(work)].of(work.pass).extra_us;
    const bool takes_step =
        work.pass == Pass::update && lowest_updated[work.resource] == index(work.stage);
    return own_us + (takes_step ? demand.step_us : 0);
  }

  double layer_us(const WorkClass& work, const Layer& layer) const {
    return penstock::layer_us(work, layer, hardware) * demand.stretch;
  }
};

/// The collectives of an action, starting with those of its recomputation.
std::vector<StageCollective> collectives_of(const WorkClass& work, const StageDemand& stage) {
  std::vector<StageCollective> all;
  if (work.recomputes) all = stage.of(Pass::recompute).collectives;
  const std::vector<StageCollective>& own = stage.of(work.pass).collectives;
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

/// The time of some collectives of an action.
TransferTime carrying(const WorkClass& work, const std::vector<StageCollective>& all,
                      Prices& prices) {
  const std::uint32_t number = prices.stage_of(work);
  const StageDemand& stage = prices.demand.stages[number];
  const Carried carried = carried_by(all, stage, prices.demand.replicas);
  if (carried.steps == 0) return {};
  const Rank rank{work.resource};
  return prices.collectives.of(number, all, carried,
                               {rank, next_to(rank, stage, prices.demand.replicas.data)});
}

double carrying_us(const WorkClass& work, const std::vector<StageCollective>& all, Prices& prices) {
  const TransferTime time = carrying(work, all, prices);
  return time.occupies_us + time.latency_us;
}

double carrying_us(const WorkClass& work, Prices& prices) {
  return carrying_us(work, collectives_of(work, prices.demand.stages[prices.stage_of(work)]),
                     prices);
}

/// What an action waits for its collectives, and for reductions that follow it, though they
/// overlap.
double exposed_us(const WorkClass& work, Prices& prices) {
  const Exposed& exposed = prices.demand.exposed;
  const StageDemand& stage = prices.demand.stages[prices.stage_of(work)];
  double sum_us = 0;
  if (prices.demand.sums_each && ends_activation(work.pass)) {
    for (const Pass part : {Pass::reduce_gradient, Pass::reduce_early}) {
      sum_us += exposed.sums * carrying(work, stage.of(part).collectives, prices).occupies_us;
    }
  }
  for (const StageCollective& one : collectives_of(work, stage)) {
    const bool gathers = one.kind == CollectiveKind::all_gather;
    const double share = gathers ? exposed.gathers : exposed.sums;
    if (share > 0) sum_us += share * carrying_us(work, {one}, prices);
  }
  return sum_us;
}

/// The layers of an action, in order of F.
std::span<const LayerIndex> layers_of(const WorkClass& work, const Prices& prices) {
  if (!runs_layers(work.pass)) return {};
  return prices.partition.stages[prices.stage_of(work)];
}

/// The time of an action's layers.
double layers_us(const WorkClass& work, const Prices& prices) {
  double sum_us = 0;
  AlikeInRow times(prices.hardware);
  for (const LayerIndex number : layers_of(work, prices)) {
    sum_us += times.us(prices.model.layers[index(number)],
                       [&](const Layer& layer) { return prices.layer_us(work, layer); });
  }
  return sum_us;
}

/// The collectives of one layer of an action, by its share of the parameters.
LayerTurn turn_of(const WorkClass& work, const Layer& layer, Prices& prices) {
  const StageDemand& stage = prices.demand.stages[prices.stage_of(work)];
  LayerTurn turn{.compute_us = prices.layer_us(work, layer)};
  if (stage.parameter_bytes == 0) return turn;
  const double share = layer.parameter_bytes / stage.parameter_bytes;
  for (StageCollective one : collectives_of(work, stage)) {
    const bool gathers = one.kind == CollectiveKind::all_gather;
    one.factor = share * (gathers ? layer.gathered_share : one.factor);
    const double us = carrying_us(work, {one}, prices);
    (gathers ? turn.gather_us : turn.reduce_us) += us;
  }
  return turn;
}

/// The time of an action's layers with their collectives, layer by layer: B, I and W run from the
/// last layer to the first.
double layers_in_turn_us(const WorkClass& work, std::uint32_t ahead, Prices& prices) {
  std::vector<LayerTurn> turns;
  for (const LayerIndex layer : layers_of(work, prices)) {
    turns.push_back(turn_of(work, prices.model.layers[index(layer)], prices));
  }
  if (work.pass != Pass::forward) std::ranges::reverse(turns);
  return turns_us(turns, ahead, prices.demand.slows, prices.demand.exposed);
}

/// What a pass moves to or from host memory meanwhile takes this long.
double host_us(const WorkClass& work, const Prices& prices) {
  const double bytes = prices.demand.stages[prices.stage_of(work)].of(work.pass).host_bytes;
  if (bytes == 0) return 0;
  const Rank rank{work.resource};
  const bool leaves = work.pass == Pass::forward;
  const TransferTime time = checked_transfer(
      prices.hardware, bytes, leaves ? Link{rank, host_memory} : Link{host_memory, rank});
  return time.occupies_us + time.latency_us;
}

/// The time of an action without what it moves to or from host memory.
double device_us(const WorkClass& work, Prices& prices) {
  const Demand& demand = prices.demand;
  const bool overlaps = demand.collectives_overlap;
  const double carried_us = carrying_us(work, prices) * (overlaps ? demand.slows.transfer : 1);
  const bool in_turn = overlaps && demand.layers_ahead && carried_us > 0;
  const double work_us =
      in_turn ? layers_in_turn_us(work, *demand.layers_ahead, prices) : layers_us(work, prices);
  const double extra_us = prices.extra_us(work);
  const double both_us = demand.extra_overlaps ? std::max(work_us, extra_us) : work_us + extra_us;
  if (!overlaps) return both_us + carried_us;
  if (in_turn) return std::max(both_us, carried_us);
  return std::max(slowed_us(both_us, carried_us, demand.slows) + exposed_us(work, prices),
                  carried_us);
}

double action_us(const WorkClass& work, Prices& prices) {
  return std::max(device_us(work, prices), host_us(work, prices));
}

/// The time of an exchange within a rank: that of what the last layer of the lower stage hands on.
double exchange_us(const WorkClass& work, const Prices& prices) {
  const bool gradient = work.pass == Pass::send_gradient;
  const std::uint32_t lower = prices.stage_of(work) - (gradient ? 1 : 0);
  const LayerIndex number = prices.partition.stages[lower].back();
  const Layer& layer = prices.model.layers[index(number)];
  if (layer.exchange_us) return *layer.exchange_us;
  Layer exchange = layer;  // of which nothing else is left
  exchange.work = {.kernels = {}, .collectives = layer.work.handing_on};
  const Pass pass = gradient ? Pass::backward_input : Pass::forward;
  return prices.layer_us({.pass = pass, .stage = work.stage, .resource = work.resource}, exchange);
}

/// The time of a transfer. Sets the size of its buffer if the buffer kind leaves it open.
TransferTime transfer_time(const WorkClass& work, Prices& prices, Costs& costs) {
  const Link& link = prices.plan.link(work.resource);
  const std::uint32_t number = prices.stage_of(work);
  const StageDemand& stage = prices.demand.stages[number];
  const PassDemand& own = stage.of(work.pass);
  std::uint64_t& bytes = costs.bytes[work.buffer];
  if (own.sent_bytes) bytes = checked_bytes(*own.sent_bytes);
  if (is_exchange(prices.plan, work)) return {.occupies_us = exchange_us(work, prices)};
  if (own.collectives.empty()) {
    return checked_transfer(prices.hardware, static_cast<double>(bytes) * own.sent_share, link);
  }
  Carried carried = carried_by(own.collectives, stage, prices.demand.replicas);
  bytes = checked_bytes(carried.bytes);
  carried.bytes = static_cast<double>(bytes);
  return prices.collectives.of(number, own.collectives, carried, link);
}

/// What an action occupies of its device; nothing when a layer states its times.
std::optional<DeviceUse> use_of(const WorkClass& work, Prices& prices) {
  DeviceUse sum{.compute_us = prices.extra_us(work), .network_us = carrying_us(work, prices)};
  const auto add = [&](const Layer& layer, Pass pass) {
    const auto use = prices.hardware.use(layer, pass);
    if (use) sum += *use;
    return use.has_value();
  };
  for (const LayerIndex number : layers_of(work, prices)) {
    const Layer& layer = prices.model.layers[index(number)];
    const bool again = work.recomputes && is_repeated(layer);
    if (!add(layer, work.pass) || (again && !add(layer, Pass::recompute))) return {};
  }
  return sum;
}

/// The least time of two actions at once on one device: as long as the longer one, and as long as
/// both need any part of the device.
double shared_us(const WorkClass& one, const WorkClass& two, Prices& prices) {
  auto both = use_of(one, prices);
  const auto other = use_of(two, prices);
  if (!both || !other) return 0;
  *both += *other;
  return std::max({both->compute_us, both->memory_us, both->network_us});
}

/// A fused cell lasts as long as its longer part, and at least as long as both need one part of the
/// device; the second part adds nothing.
void fuse_durations(Prices& prices, std::vector<Time>& duration) {
  const Plan& plan = prices.plan;
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const WorkClass& work = plan.classes[c];
    if (work.partner == UINT32_MAX || work.follows_partner) continue;
    const Time shared = checked_time(shared_us(work, plan.classes[work.partner], prices));
    duration[c] = std::max({duration[c], duration[work.partner], shared});
  }
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    if (plan.classes[c].follows_partner) duration[c] = {};
  }
}

/// Ensures that later sums of durations and sizes cannot overflow.
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
            const HardwareModel& hardware, const Demand& demand) {
  Prices prices({plan, model, partition, hardware, demand});
  Costs costs;
  for (const BufferClass& buffer : plan.buffers) {
    const StageDemand& stage = demand.stages[plan.model_stage[index(buffer.stage)]];
    costs.bytes.push_back(checked_bytes(stage.held(buffer.kind)));
  }
  for (const WorkClass& work : plan.classes) {
    if (is_transfer(work.pass)) {
      const TransferTime time = transfer_time(work, prices, costs);
      costs.duration.push_back(checked_time(time.occupies_us));
      costs.latency.push_back(checked_time(time.latency_us));
    } else {
      costs.duration.push_back(checked_time(action_us(work, prices)));
      costs.latency.emplace_back();
    }
  }
  fuse_durations(prices, costs.duration);
  set_step_end(prices, {costs.duration, costs.latency, costs.hidden});
  check_totals(plan, costs);
  return costs;
}

void check_clock(const Plan& plan, const Costs& costs, const std::string& where, double stretch) {
  // At most as many launches precede a task as there are tasks.
  double picoseconds = static_cast<double>(costs.launch.picoseconds) +
                       static_cast<double>(costs.issue.picoseconds) * plan.tasks();
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    picoseconds += static_cast<double>(costs.duration_of(plan, task).picoseconds) * stretch +
                   static_cast<double>(costs.latency_of(plan, task).picoseconds);
  }
  if (picoseconds > most_picoseconds) too_long(where);
}

Network network_of(const Plan& plan, const HardwareModel& hardware) {
  Network network = hardware.network();
  if (network.links.empty()) return network;
  for (const Link& link : plan.links) network.routes.push_back(hardware.route(link));
  return network;
}

}  // namespace penstock
