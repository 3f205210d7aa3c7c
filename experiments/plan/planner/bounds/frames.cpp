#include "experiments/plan/planner/bounds/frames.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "experiments/input/long_work/parallel.hpp"
#include "experiments/run/layout/cut.hpp"
#include "experiments/run/layout/training.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

bool like_each_other(const OrderChoice& one, const OrderChoice& other) {
  return one.rule->place == other.rule->place && one.chunks == other.chunks &&
         one.slices == other.slices && one.splits == other.splits && one.joins == other.joins &&
         one.rule->copies == other.rule->copies && one.why_not == other.why_not;
}

/// The equal part of each rank: the fullest one has at least that.
double equal_part_us(const std::vector<StageBounds>& times, const OrderShape& shape,
                     std::uint32_t ranks, std::size_t copies) {
  double sum = 0;
  for (const StageBounds& stage : times) {
    const double split = stage.backward_input + stage.backward_weight;
    sum += stage.forward + (shape.splits ? std::min(split, stage.backward) : stage.backward);
  }
  return sum / static_cast<double>(copies) * shape.cells / ranks;
}

bool recomputes_nothing(const std::vector<LayerTimes>& layers) {
  return std::all_of(layers.begin(), layers.end(),
                     [](const LayerTimes& layer) { return layer.us[4].value_or(0) == 0; });
}

double parameter_bytes(const ModelGraph& model) {
  double sum = 0;
  for (const Layer& layer : model.layers) sum += layer.parameter_bytes;
  return sum;
}

}  // namespace

std::vector<OrderGroup> order_groups(const LayoutSpace& space) {
  std::vector<OrderGroup> groups;
  for (std::uint32_t number = 0; number < space.orders.size(); ++number) {
    const OrderChoice& order = space.orders[number];
    auto known = std::find_if(groups.begin(), groups.end(), [&](const OrderGroup& group) {
      return like_each_other(*group.like, order);
    });
    if (known == groups.end()) known = groups.insert(groups.end(), {{}, &order});
    known->orders.push_back(number);
  }
  return groups;
}

LayoutFrames::LayoutFrames(const PlanBase& base, const LayoutSpace& space, const Restrictions& only)
    : base_(base), space_(space), only_(only), groups_(order_groups(space)), shapes_(base, space) {
  const Layout unfitted =
      with_shape(base, {.data = base.task.devices, .microbatch = base.task.microbatch}, 1);
  shared_bytes_ = parameter_bytes(unfitted.model) - parameter_bytes(base.settled.model);
  find_placements();
  find_cuts();
}

const Placement* LayoutFrames::placement(std::uint16_t group, std::uint32_t ranks) const {
  const auto found = placements_.find({group, ranks});
  return found == placements_.end() ? nullptr : &found->second;
}

LayoutChoice LayoutFrames::choice(const LayoutFrame& frame) const {
  const OrderChoice& order = *groups_[frame.group].like;
  return layout_of(space_.degrees[frame.degrees], frame.sequence,
                   space_.recomputations[frame.recomputation], space_.partitions[frame.partition],
                   order, 0, std::nullopt);
}

LayerShapeKey LayoutFrames::key(const LayoutFrame& frame, std::uint32_t zero) const {
  const LayoutChoice& cells = space_.degrees[frame.degrees];
  return {cells.tensor,
          cells.context,
          cells.expert,
          cells.expert_tensor,
          cells.microbatch,
          frame.sequence,
          groups_[frame.group].like->slices,
          runs_sharded(zero)};
}

const std::vector<LayerTimes>* LayoutFrames::times(const LayoutFrame& frame,
                                                   std::uint32_t zero) const {
  return shapes_.of(key(frame, zero), frame.recomputation);
}

OrderShape LayoutFrames::shape(const LayoutFrame& frame, const OrderChoice& order,
                               bool gathers) const {
  return {.cells = double(space_.degrees[frame.degrees].microbatches) * order.slices,
          .splits = order.splits,
          .joins = order.joins,
          .gathers = gathers,
          .spares_last = space_.recomputations[frame.recomputation].mode == "except_last",
          .early = base_.scenario.recompute.early};
}

const std::vector<std::uint32_t>& LayoutFrames::stages_of_layers(const Placement& placement) const {
  return stage_of_layer_.at(static_cast<std::uint32_t>(placement.chains().front().size()));
}

void LayoutFrames::find_placements() {
  for (std::uint16_t group = 0; group < groups_.size(); ++group) {
    for (const LayoutChoice& degrees : space_.degrees) {
      const OrderChoice& order = *groups_[group].like;
      const std::pair at{group, degrees.pipeline};
      const bool legal = std::any_of(
          groups_[group].orders.begin(), groups_[group].orders.end(), [&](std::uint32_t number) {
            return why_no_order(base_.task, degrees, space_.orders[number]) == nullptr;
          });
      if (!legal || placements_.contains(at)) continue;
      try {
        placements_.emplace(at, placement_of(order, degrees.pipeline));
      } catch (const RuleError&) {
        continue;
      }
    }
  }
}

/// Even cuts do not depend on times.
void LayoutFrames::find_cuts() {
  const ModelGraph model = whole_model(base_, base_.settled.model);
  const PartitionerEntry* even = find_named(partitioner_entries(), "even");
  ModelToCut problem = model_to_cut(model, {});
  for (const auto& [at, placement] : placements_) {
    const auto stages = static_cast<std::uint32_t>(placement.chains().front().size());
    if (stage_of_layer_.contains(stages) || stages > model.layers.size()) continue;
    problem.problem.stages = stages;
    const Partition partition = partition_of(even->cut(problem.problem), problem);
    std::vector<std::uint32_t>& of_layer = stage_of_layer_[stages];
    of_layer.resize(model.layers.size());
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      for (const LayerIndex layer : partition.stages[stage]) of_layer[index(layer)] = stage;
    }
  }
}

/// The frames of each combination of degrees, not judged.
std::vector<LayoutFrame> LayoutFrames::of_degrees(std::uint32_t number) const {
  const LayoutChoice& degrees = space_.degrees[number];
  std::vector<LayoutFrame> frames;
  for (const bool sequence : sequence_choices(base_.task, degrees, only_)) {
    for (std::uint8_t r = 0; r < space_.recomputations.size(); ++r) {
      for (std::uint8_t p = 0; p < space_.partitions.size(); ++p) {
        for (std::uint16_t group = 0; group < groups_.size(); ++group) {
          if (placement(group, degrees.pipeline) == nullptr) continue;
          if (why_no_order(base_.task, degrees, *groups_[group].like) != nullptr &&
              degrees.pipeline > 1) {
            continue;
          }
          frames.push_back(
              {.degrees = number,
               .group = group,
               .sequence = sequence,
               .recomputation = r,
               .partition = p,
               .bound_by = bound_by(base_, *groups_[group].like, space_.partitions[p])});
        }
      }
    }
  }
  return frames;
}

std::vector<LayoutFrame> LayoutFrames::all(std::size_t jobs) {
  std::vector<std::vector<LayoutFrame>> by_degrees;
  for (std::uint32_t number = 0; number < space_.degrees.size(); ++number) {
    by_degrees.push_back(of_degrees(number));
    for (const LayoutFrame& frame : by_degrees.back()) {
      for (const std::uint32_t zero : space_.zeros) shapes_.ask(key(frame, zero), choice(frame));
    }
  }
  shapes_.price(jobs);
  in_parallel(
      by_degrees.size(),
      [&](std::size_t number) {
        for (LayoutFrame& frame : by_degrees[number]) judge(frame);
      },
      {}, jobs);
  std::vector<LayoutFrame> all;
  for (std::vector<LayoutFrame>& some : by_degrees) all.insert(all.end(), some.begin(), some.end());
  return all;
}

/// A price in microseconds at least: each is rounded to a picosecond.
void round_down(double& us) {
  constexpr double half_a_picosecond = 5e-7;
  us = std::max(0.0, us - half_a_picosecond);
}

/// Sums of layers.
std::vector<StageBounds> LayoutFrames::stage_times(const LayoutFrame& frame,
                                                   const Placement& placement,
                                                   const std::vector<LayerTimes>& layers) const {
  const auto stages = static_cast<std::uint32_t>(placement.chains().front().size());
  std::vector<StageBounds> sums(stages);
  const bool again = space_.recomputations[frame.recomputation].mode != "none";
  const std::vector<std::uint32_t>& stage_of = stages_of_layers(placement);
  for (std::size_t i = 0; i < base_.reduced_layer.size(); ++i) {
    const LayerTimes& layer = layers[base_.reduced_layer[i]];
    StageBounds& sum = sums[stage_of[i]];
    sum.forward += layer.us[0].value_or(0);
    sum.backward += layer.us[1].value_or(0);
    sum.backward_input += layer.us[2].value_or(0);
    sum.backward_weight += layer.us[3].value_or(0);
    if (again) sum.again += layer.us[4].value_or(0);
  }
  for (StageBounds& sum : sums) {
    for (double* us :
         {&sum.forward, &sum.backward, &sum.backward_input, &sum.backward_weight, &sum.again}) {
      round_down(*us);
    }
  }
  std::vector<StageBounds> times;
  for (const Stage stage : placement.stages()) times.push_back(sums[placement.position(stage)]);
  return times;
}

/// Parameters of the stages, whole and the shares of a replica.
LayoutFrames::StageWeights LayoutFrames::weights_of(const LayoutFrame& frame,
                                                    const Placement& placement,
                                                    const std::vector<LayerTimes>& layers) const {
  const auto stages = static_cast<std::uint32_t>(placement.chains().front().size());
  const std::vector<std::uint32_t>& stage_of = stages_of_layers(placement);
  const double holders =
      space_.degrees[frame.degrees].data * static_cast<double>(placement.chains().size());
  StageWeights weights{std::vector<double>(stages), std::vector<double>(stages)};
  for (std::size_t i = 0; i < base_.reduced_layer.size(); ++i) {
    const LayerTimes& layer = layers[base_.reduced_layer[i]];
    weights.whole[stage_of[i]] += layer.dense_bytes + layer.expert_bytes;
    weights.share[stage_of[i]] +=
        layer.dense_bytes / (layer.copies * holders) +
        layer.expert_bytes * layer.expert_spread / (layer.expert_copies * holders);
  }
  return weights;
}

/// Parameters, gradients and optimizer state by rank.
std::vector<double> LayoutFrames::held_bytes(const LayoutFrame& frame, const Placement& placement,
                                             const StageWeights& weights,
                                             std::uint32_t zero) const {
  const DeviceMemory& memory = base_.settled.memory;
  // A gradient that is not kept still travels.
  const double gradient = memory.kept.gradient > 0 ? memory.kept.gradient_factor() : 0;
  const double optimizer = memory.kept.optimizer_factor();
  // Each buffer is rounded to a byte: one of a rank, three of a stage.
  const double fixed = memory.context_bytes - shared_bytes_ * (gradient + optimizer + 1) - 0.5;
  const bool whole = keeps_whole_gradients(memory, zero, placement.ranks(),
                                           space_.degrees[frame.degrees].microbatches);
  std::vector<double> held(placement.ranks(), fixed);
  for (const Stage stage : placement.stages()) {
    const std::uint32_t at = placement.position(stage);
    const auto from = [&](std::uint32_t level) {
      return zero >= level ? weights.share[at] : weights.whole[at];
    };
    held[index(placement.rank_of(stage))] +=
        from(3) + (whole ? weights.whole[at] : from(2)) * gradient + from(1) * optimizer - 1.5;
  }
  return held;
}

/// What the fullest rank holds throughout; the mean where the cut is not known.
void LayoutFrames::judge_memory(const Placement& placement, const std::vector<LayerTimes>& layers,
                                LayoutFrame& frame) const {
  const auto largest = base_.settled.memory.largest_peak_bytes();
  const bool known = frame.bound_by == BoundBy::even_cut;
  const StageWeights weights = weights_of(frame, placement, layers);
  frame.least_bytes = std::numeric_limits<double>::infinity();
  for (const std::uint32_t zero : space_.zeros) {
    const std::vector<double> held = held_bytes(frame, placement, weights, zero);
    const double needed =
        known ? *std::max_element(held.begin(), held.end())
              : std::accumulate(held.begin(), held.end(), 0.0) / static_cast<double>(held.size());
    frame.least_bytes = std::min(frame.least_bytes, needed);
    if (largest && needed > static_cast<double>(*largest)) continue;
    frame.may_fit |= static_cast<std::uint8_t>(1U << zero);
  }
}

/// What cells keep. A whole stage that is recomputed keeps the input of its first layer.
void LayoutFrames::add_kept(const LayoutFrame& frame, const Placement& placement,
                            const std::vector<LayerTimes>& layers, StagePrices& prices) const {
  const auto stages = static_cast<std::uint32_t>(placement.chains().front().size());
  const std::vector<std::uint32_t>& stage_of = stages_of_layers(placement);
  const RecomputeChoice& recompute = space_.recomputations[frame.recomputation];
  const bool inputs = recompute.stages || recompute.mode == "except_last";
  const bool splits = groups_[frame.group].like->splits;
  std::vector<LayerTimes> sums(stages);
  for (std::size_t i = 0; i < base_.reduced_layer.size(); ++i) {
    const LayerTimes& layer = layers[base_.reduced_layer[i]];
    LayerTimes& sum = sums[stage_of[i]];
    const bool first = i == 0 || stage_of[i] != stage_of[i - 1];
    if (first || !inputs) {
      sum.kept_bytes += layer.kept_bytes;
      if (splits) sum.freed_bytes += layer.freed_bytes;
    }
    if (splits) sum.pending_bytes += layer.pending_bytes;
    sum.workspace_bytes = std::max(sum.workspace_bytes, layer.workspace_bytes);
  }
  for (const Stage stage : placement.stages()) {
    const LayerTimes& sum = sums[placement.position(stage)];
    const auto rounded_down = [](double bytes) { return std::max(0.0, bytes - 0.5); };
    prices.kept_bytes.push_back(rounded_down(sum.kept_bytes - sum.freed_bytes));
    prices.input_bytes.push_back(rounded_down(sum.freed_bytes));
    prices.pending_bytes.push_back(rounded_down(sum.pending_bytes));
    prices.workspace_bytes.push_back(rounded_down(sum.workspace_bytes));
  }
}

StagePrices LayoutFrames::layer_prices(const LayoutFrame& frame, std::uint32_t zero) const {
  const Placement& ranks = *placement(frame.group, space_.degrees[frame.degrees].pipeline);
  const std::vector<LayerTimes>& layers = *times(frame, zero);
  StagePrices prices{
      .times = stage_times(frame, ranks, layers),
      .held_bytes = held_bytes(frame, ranks, weights_of(frame, ranks, layers), zero)};
  add_kept(frame, ranks, layers, prices);
  return prices;
}

/// With the layer times of one stack.
double LayoutFrames::bound_of(const LayoutFrame& frame,
                              const std::vector<LayerTimes>& layers) const {
  const LayoutChoice& degrees = space_.degrees[frame.degrees];
  const OrderChoice& order = *groups_[frame.group].like;
  const Placement& ranks = *placement(frame.group, degrees.pipeline);
  const OrderShape cells = shape(frame, order, true);
  const std::vector<StageBounds> times = stage_times(frame, ranks, layers);
  if (frame.bound_by == BoundBy::even_cut) {
    return bound_rounding * step_bound_us(ranks, times, cells);
  }
  const double share = fuses(base_, order) ? 0.5 : 1;  // a cell takes the longer of its parts
  return bound_rounding * share * equal_part_us(times, cells, ranks.ranks(), ranks.chains().size());
}

void LayoutFrames::judge(LayoutFrame& frame) const {
  frame.bound_us = std::numeric_limits<double>::infinity();
  std::vector<const std::vector<LayerTimes>*> stacks;
  for (const std::uint32_t zero : space_.zeros) {
    const std::vector<LayerTimes>* layers = times(frame, zero);
    if (layers == nullptr) {
      frame.refusal = "the model does not divide by these degrees";
      return;
    }
    if (std::find(stacks.begin(), stacks.end(), layers) == stacks.end()) stacks.push_back(layers);
  }
  for (const auto* layers : stacks) {
    frame.bound_us = std::min(frame.bound_us, bound_of(frame, *layers));
  }
  if (space_.recomputations[frame.recomputation].mode == "selective" &&
      recomputes_nothing(*stacks.back())) {
    frame.refusal = "selective recomputation has nothing to recompute";
    return;
  }
  if (frame.bound_by == BoundBy::nothing) {
    frame.bound_us = 0;
    frame.may_fit = UINT8_MAX;
    return;
  }
  judge_memory(*placement(frame.group, space_.degrees[frame.degrees].pipeline), *stacks.back(),
               frame);
}

}  // namespace penstock
