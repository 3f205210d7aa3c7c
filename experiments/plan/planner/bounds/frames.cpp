#include "experiments/plan/planner/bounds/frames.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "experiments/input/long_work/parallel.hpp"
#include "experiments/run/layout/cut.hpp"
#include "experiments/run/layout/pipeline_ranks.hpp"
#include "experiments/run/layout/stack_memory.hpp"
#include "experiments/run/layout/training.hpp"
#include "experiments/run/simulation.hpp"
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
    : base_(base),
      space_(space),
      only_(only),
      groups_(order_groups(space)),
      shapes_(base, space),
      chain_(model_to_cut(whole_model(base, base.settled.model), {})),
      links_(space.degrees.size()) {
  for (const std::uint32_t zero : {0U, 3U}) {
    const LayoutChoice any{
        .data = base.task.devices, .microbatch = base.task.microbatch, .zero = zero};
    const Layout layout = with_shape(base, any, 1);
    stacks_.push_back({stack_of(layout), optimizer_us(layout)});
  }
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

void LayoutFrames::find_layers(LayoutFrame& frame) const {
  for (const std::uint32_t zero : space_.zeros) {
    auto& layers = frame.layers[runs_sharded(zero) ? 1 : 0];
    if (layers == nullptr) layers = shapes_.of(key(frame, zero), frame.recomputation);
  }
}

Layout LayoutFrames::shaped(const LayoutFrame& frame, std::uint32_t zero) const {
  LayoutChoice own = choice(frame);
  own.zero = zero;
  Layout layout = without_layers(base_, own, groups_[frame.group].like->slices);
  layout.model = shapes_.model(key(frame, zero), frame.recomputation);
  return layout;
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

std::vector<std::uint32_t> LayoutFrames::stages_of_layers(const LayoutFrame& frame,
                                                          const Placement& placement,
                                                          std::uint32_t zero) const {
  const auto stages = static_cast<std::uint32_t>(placement.chains().front().size());
  if (frame.bound_by != BoundBy::priced_cut) return stage_of_layer_.at(stages);
  if (base_.scenario.model.stages_given) {
    std::vector<std::uint32_t> own(base_.reduced_layer.size());
    std::iota(own.begin(), own.end(), 0U);
    return own;
  }
  CutSizes sizes = links_[frame.degrees][runs_sharded(zero) ? 1 : 0];
  sizes.stages = stages;
  sizes.ranks = placement.ranks();
  sizes.microbatches =
      space_.degrees[frame.degrees].microbatches * groups_[frame.group].like->slices;
  const PartitionerEntry* entry =
      find_named(partitioner_entries(), space_.partitions[frame.partition]);
  Partition partition{base_.scenario.partition.stages, {}};
  if (partition.stages.empty()) {
    partition = cut_by(*entry, base_.scenario.partition.settings, sizes, base_.settled.memory,
                       chain_of(frame, zero));
  }
  std::vector<std::uint32_t> of_layer(base_.reduced_layer.size());
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    for (const LayerIndex layer : partition.stages[stage]) of_layer[index(layer)] = stage;
  }
  return of_layer;
}

/// The layers of a frame for its partitioner.
ModelToCut LayoutFrames::chain_of(const LayoutFrame& frame, std::uint32_t zero) const {
  const std::vector<LayerTimes>& all = *times(frame, zero);
  const ModelGraph& model = shapes_.model(key(frame, zero), frame.recomputation);
  const bool again = space_.recomputations[frame.recomputation].mode != "none";
  ModelToCut chain = chain_;
  for (std::size_t place = 0; place < chain.layers.size(); ++place) {
    const std::uint32_t number = base_.reduced_layer[index(chain.layers[place].front())];
    const auto us = [&](Pass pass) {
      return all[number].us[static_cast<std::size_t>(pass)].value_or(0);
    };
    const double more = again ? us(Pass::recompute) : 0;
    const Layer& layer = model.layers[number];
    chain.problem.layers[place] = {.forward_s = us(Pass::forward) / 1e6,
                                   .backward_s = (us(Pass::backward) + more) / 1e6,
                                   .input_s = (us(Pass::backward_input) + more) / 1e6,
                                   .weight_s = us(Pass::backward_weight) / 1e6,
                                   .output_bytes = layer.activation_bytes,
                                   .parameter_bytes = layer.parameter_bytes,
                                   .stash_bytes = layer.stash_bytes,
                                   .counted = layer.cut_evenly};
  }
  return chain;
}

/// The link between the first ranks of some degrees, on either stack.
void LayoutFrames::find_link(std::uint32_t number) {
  LayoutChoice choice = space_.degrees[number];
  for (const std::uint32_t zero : {0U, 3U}) {
    choice.zero = zero;
    Layout layout = without_layers(base_, choice, 1);
    layout.placement = Placement::loop(choice.pipeline, 1);
    spread_ranks(base_.scenario, layout);
    CutSizes& link = links_[number][runs_sharded(zero) ? 1 : 0];
    link.ranks = choice.pipeline;
    add_link(*hardware_of(layout), link);
  }
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

std::vector<LayoutFrame> LayoutFrames::unjudged(std::uint32_t number) const {
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

std::vector<LayoutFrame> LayoutFrames::of_degrees(std::uint32_t degrees) {
  std::vector<LayoutFrame> frames = unjudged(degrees);
  const bool asks = std::any_of(frames.begin(), frames.end(), [](const LayoutFrame& frame) {
    return frame.bound_by == BoundBy::priced_cut;
  });
  if (asks && space_.degrees[degrees].pipeline > 1) find_link(degrees);
  for (LayoutFrame& frame : frames) {
    find_layers(frame);
    judge(frame);
  }
  return frames;
}

std::vector<DegreesBounds> LayoutFrames::price_degrees(std::size_t jobs) {
  std::vector<std::vector<LayoutFrame>> different;  // frames that differ in their shape alone
  for (std::uint32_t number = 0; number < space_.degrees.size(); ++number) {
    std::set<LayerShapeKey> known;
    different.emplace_back();
    for (const LayoutFrame& frame : unjudged(number)) {
      if (!known.insert(key(frame, 0)).second) continue;
      different.back().push_back(frame);
      for (const std::uint32_t zero : space_.zeros) shapes_.ask(key(frame, zero), choice(frame));
    }
  }
  shapes_.price(jobs);
  std::vector<DegreesBounds> all;
  for (std::vector<LayoutFrame>& frames : different) {
    for (LayoutFrame& frame : frames) find_layers(frame);
    all.push_back(bounds_of(frames));
  }
  return all;
}

/// Of the frame that takes least and of the one that needs least.
DegreesBounds LayoutFrames::bounds_of(const std::vector<LayoutFrame>& frames) const {
  constexpr double never = std::numeric_limits<double>::infinity();
  DegreesBounds bounds{never, never};
  for (const LayoutFrame& frame : frames) {
    const bool known = frame.bound_by != BoundBy::nothing && times(frame, space_.zeros.back());
    for (const std::uint32_t zero : space_.zeros) {
      bounds.bound_us = std::min(bounds.bound_us, known ? work_us(frame, zero) : 0);
    }
    bounds.least_bytes = std::min(bounds.least_bytes, known ? mean_bytes(frame) : 0);
  }
  return bounds;
}

/// The equal part of each rank of the work of all layers, without recomputation.
double LayoutFrames::work_us(const LayoutFrame& frame, std::uint32_t zero) const {
  const std::vector<LayerTimes>* layers = times(frame, zero);
  if (layers == nullptr) return 0;
  const LayoutChoice& degrees = space_.degrees[frame.degrees];
  double us = 0;
  for (const std::uint32_t number : base_.reduced_layer) {
    const auto& pass = (*layers)[number].us;
    const double backward = pass[1].value_or(0);
    us +=
        pass[0].value_or(0) + std::min(backward, pass[2].value_or(backward) + pass[3].value_or(0));
  }
  const bool fused = base_.scenario.schedule.overlap == Overlap::fused;
  const double cells = double(degrees.microbatches) * groups_[frame.group].like->slices;
  return bound_rounding * (fused ? 0.5 : 1) * us * stretch_of_frame(frame, zero) * cells /
         degrees.pipeline;
}

/// Parameters, gradients and optimizer state of the mean rank, at the level that needs the least.
double LayoutFrames::mean_bytes(const LayoutFrame& frame) const {
  const LayoutChoice& degrees = space_.degrees[frame.degrees];
  LayerTimes whole, share;
  for (const std::uint32_t number : base_.reduced_layer) {
    const LayerTimes& layer = (*times(frame, space_.zeros.back()))[number];
    whole.dense_bytes += layer.dense_bytes + layer.expert_bytes;
    share.dense_bytes +=
        layer.dense_bytes / (layer.copies * degrees.data) +
        layer.expert_bytes * layer.expert_spread / (layer.expert_copies * degrees.data);
  }
  const DeviceMemory& memory = base_.settled.memory;
  const double gradient = memory.kept.gradient > 0 ? memory.kept.gradient_factor() : 0;
  const double optimizer = memory.kept.optimizer_factor();
  double least = std::numeric_limits<double>::infinity();
  for (const std::uint32_t zero : space_.zeros) {
    const auto from = [&](std::uint32_t level) {
      return zero >= level ? share.dense_bytes : whole.dense_bytes;
    };
    least = std::min(least, from(3) + from(2) * gradient + from(1) * optimizer);
  }
  const double shared = shared_bytes_ * (gradient + optimizer + 1);
  return std::max(0.0, memory.context_bytes - shared + bound_rounding * least / degrees.pipeline);
}

double LayoutFrames::stretch_of_frame(const LayoutFrame& frame, std::uint32_t zero) const {
  return stretch_of(stacks_[runs_sharded(zero) ? 1 : 0].constants,
                    space_.degrees[frame.degrees].data);
}

/// A price in microseconds at least: each is rounded to a picosecond.
void round_down(double& us) {
  constexpr double half_a_picosecond = 5e-7;
  us = std::max(0.0, us - half_a_picosecond);
}

/// Sums of layers, as long as many replicas make them, and the update.
std::vector<StageBounds> LayoutFrames::stage_times(const LayoutFrame& frame,
                                                   const Placement& placement,
                                                   const std::vector<std::uint32_t>& stage_of,
                                                   std::uint32_t zero) const {
  const std::vector<LayerTimes>& layers = *times(frame, zero);
  const OfStack& stack = stacks_[runs_sharded(zero) ? 1 : 0];
  const double stretch = stretch_of_frame(frame, zero);
  const auto stages = static_cast<std::uint32_t>(placement.chains().front().size());
  std::vector<StageBounds> sums(stages);
  const bool again = space_.recomputations[frame.recomputation].mode != "none";
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
      *us *= stretch;
      round_down(*us);
    }
    sum.update = sum.after = stack.update_us;
    round_down(sum.update);
    round_down(sum.after);
  }
  std::vector<StageBounds> times;
  for (const Stage stage : placement.stages()) times.push_back(sums[placement.position(stage)]);
  return times;
}

/// Parameters of the stages, whole and the shares of a replica.
LayoutFrames::StageWeights LayoutFrames::weights_of(const LayoutFrame& frame,
                                                    const Placement& placement,
                                                    const std::vector<std::uint32_t>& stage_of,
                                                    std::uint32_t zero) const {
  const auto stages = static_cast<std::uint32_t>(placement.chains().front().size());
  const std::vector<LayerTimes>& layers = *times(frame, zero);
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
void LayoutFrames::judge_memory(const Placement& placement, LayoutFrame& frame) const {
  const auto largest = base_.settled.memory.largest_peak_bytes();
  frame.least_bytes = std::numeric_limits<double>::infinity();
  StageWeights weights;
  const std::vector<LayerTimes>* last = nullptr;
  for (const std::uint32_t zero : space_.zeros) {
    const std::vector<LayerTimes>* layers = times(frame, zero);
    if (layers != last) {
      weights = weights_of(frame, placement, stages_of_layers(frame, placement, zero), zero);
    }
    last = layers;
    const std::vector<double> held = held_bytes(frame, placement, weights, zero);
    const double needed = frame.has_cut() ? *std::max_element(held.begin(), held.end())
                                          : std::accumulate(held.begin(), held.end(), 0.0) /
                                                static_cast<double>(held.size());
    frame.least_bytes = std::min(frame.least_bytes, needed);
    if (largest && needed > static_cast<double>(*largest)) continue;
    frame.may_fit |= static_cast<std::uint8_t>(1U << zero);
  }
}

/// What cells keep. A whole stage that is recomputed keeps the input of its first layer.
void LayoutFrames::add_kept(const LayoutFrame& frame, const Placement& placement,
                            const std::vector<std::uint32_t>& stage_of, std::uint32_t zero,
                            StagePrices& prices) const {
  const auto stages = static_cast<std::uint32_t>(placement.chains().front().size());
  const std::vector<LayerTimes>& layers = *times(frame, zero);
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

std::vector<LayoutFrames::LayerPrices> LayoutFrames::layer_prices(const LayoutFrame& frame) const {
  const Placement& ranks = *placement(frame.group, space_.degrees[frame.degrees].pipeline);
  std::vector<LayerPrices> stacks;
  const std::vector<LayerTimes>* last = nullptr;
  StageWeights weights;
  for (const std::uint32_t zero : space_.zeros) {
    if (!takes_zero(base_.task, space_.degrees[frame.degrees], *groups_[frame.group].like, zero)) {
      continue;
    }
    const std::vector<LayerTimes>* layers = times(frame, zero);
    if (layers != last) {
      const std::vector<std::uint32_t> stage_of = stages_of_layers(frame, ranks, zero);
      stacks.push_back({{.times = stage_times(frame, ranks, stage_of, zero)}, {}, {}});
      add_kept(frame, ranks, stage_of, zero, stacks.back().prices);
      weights = weights_of(frame, ranks, stage_of, zero);
    }
    last = layers;
    stacks.back().levels.push_back(zero);
    stacks.back().held_bytes.push_back(held_bytes(frame, ranks, weights, zero));
  }
  return stacks;
}

/// On the stack of a ZeRO level.
double LayoutFrames::bound_of(const LayoutFrame& frame, std::uint32_t zero) const {
  const LayoutChoice& degrees = space_.degrees[frame.degrees];
  const OrderChoice& order = *groups_[frame.group].like;
  const Placement& ranks = *placement(frame.group, degrees.pipeline);
  const OrderShape cells = shape(frame, order, true);
  const std::vector<StageBounds> times =
      stage_times(frame, ranks, stages_of_layers(frame, ranks, zero), zero);
  if (frame.has_cut()) {
    return bound_rounding * step_bound_us(ranks, times, cells);
  }
  const double share = fuses(base_, order) ? 0.5 : 1;  // a cell takes the longer of its parts
  return bound_rounding * share * equal_part_us(times, cells, ranks.ranks(), ranks.chains().size());
}

void LayoutFrames::judge(LayoutFrame& frame) const {
  try {
    judge_cut(frame);
  } catch (const InputError&) {  // of the partitioner: the simulation says why
    frame.bound_by = BoundBy::equal_parts;
    judge_cut(frame);
  }
}

void LayoutFrames::judge_cut(LayoutFrame& frame) const {
  frame.bound_us = std::numeric_limits<double>::infinity();
  const std::vector<LayerTimes>* layers = nullptr;
  for (const std::uint32_t zero : space_.zeros) {
    const std::vector<LayerTimes>* next = times(frame, zero);
    if (next == nullptr) {
      frame.refusal = "the model does not divide by these degrees";
      return;
    }
    if (next == layers) continue;  // of the same stack
    layers = next;
    frame.bound_us = std::min(frame.bound_us, bound_of(frame, zero));
  }
  if (space_.recomputations[frame.recomputation].mode == "selective" &&
      recomputes_nothing(*layers)) {
    frame.refusal = "selective recomputation has nothing to recompute";
    return;
  }
  if (frame.bound_by == BoundBy::nothing) {
    frame.bound_us = 0;
    frame.may_fit = UINT8_MAX;
    return;
  }
  judge_memory(*placement(frame.group, space_.degrees[frame.degrees].pipeline), frame);
}

}  // namespace penstock
