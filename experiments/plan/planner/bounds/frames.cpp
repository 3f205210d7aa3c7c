#include "experiments/plan/planner/bounds/frames.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "experiments/run/layout/cut.hpp"
#include "experiments/run/layout/stack_memory.hpp"
#include "experiments/run/layout/training.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

bool like_each_other(const OrderChoice& one, const OrderChoice& other) {
  return one.rule->place == other.rule->place && one.chunks == other.chunks &&
         one.slices == other.slices && one.splits == other.splits && one.joins == other.joins &&
         one.fused == other.fused && one.hides_experts == other.hides_experts &&
         one.rule->copies == other.rule->copies && one.why_not == other.why_not;
}

/// Whether cells of a shape take the same, however ranks share their work.
bool same_cells(const OrderChoice& one, const OrderChoice& other) {
  return one.slices == other.slices && one.hides_experts == other.hides_experts &&
         one.fused == other.fused;
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

/// A smaller share of what a layer keeps is not worth making anything again: flash attention keeps
/// four bytes of a token and head that it can make again.
constexpr double least_freed = 0.01;

bool frees_next_to_nothing(const std::vector<LayerTimes>& layers,
                           const std::vector<LayerTimes>& whole) {
  return std::equal(layers.begin(), layers.end(), whole.begin(),
                    [](const LayerTimes& one, const LayerTimes& all) {
                      return one.kept_bytes >= (1 - least_freed) * all.kept_bytes;
                    });
}

constexpr const char* no_such_degrees = "the model does not divide by these degrees";

double parameter_bytes(const ModelGraph& model) {
  double sum = 0;
  for (const Layer& layer : model.layers) sum += layer.parameter_bytes;
  return sum;
}

std::vector<OrderGroup> order_groups(const LayoutSpace& space) {
  std::vector<OrderGroup> groups;
  for (std::uint32_t number = 0; number < space.orders.size(); ++number) {
    const OrderChoice& order = space.orders[number];
    auto known = std::ranges::find_if(
        groups, [&](const OrderGroup& group) { return like_each_other(*group.like, order); });
    if (known == groups.end()) known = groups.insert(groups.end(), {{}, &order});
    known->orders.push_back(number);
  }
  return groups;
}

}  // namespace

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
    stacks_.push_back(
        {stack_of(layout), layout.overheads.optimizer_us.value_or(0), step_us(layout)});
  }
  const Layout unfitted =
      with_shape(base, {.data = base.task.devices, .microbatch = base.task.microbatch}, 1);
  shared_bytes_ = parameter_bytes(unfitted.model) - parameter_bytes(base.settled.model);
  for (const std::string& partition : space.partitions) {
    bound_by_.push_back(bound_by(base, partition));
  }
  find_placements();
  find_cuts();
}

const Placement* LayoutFrames::placement(std::uint16_t group, std::uint32_t ranks) const {
  const auto found = placements_.find({group, ranks});
  return found == placements_.end() ? nullptr : &found->second;
}

LayoutChoice LayoutFrames::choice(const LayoutFrame& frame) const {
  const OrderChoice& order = *groups_[frame.group].like;
  return layout_of(base_.task, space_.degrees[frame.degrees], frame.sequence,
                   space_.recomputations[frame.recomputation], space_.partitions[frame.partition],
                   order, 0, std::nullopt);
}

LayerShapeKey LayoutFrames::key(const LayoutFrame& frame) const {
  const LayoutChoice& cells = space_.degrees[frame.degrees];
  return {cells.tensor,
          cells.context,
          cells.expert,
          cells.expert_tensor,
          cells.microbatch,
          frame.sequence,
          groups_[frame.group].like->slices,
          groups_[frame.group].like->hides_experts};
}

void LayoutFrames::find_layers(LayoutFrame& frame, bool recomputed) const {
  for (const std::uint32_t zero : space_.zeros) {
    const bool sharded = runs_sharded(zero);
    auto& layers = frame.layers[sharded ? 1 : 0];
    if (layers != nullptr) continue;
    layers = recomputed ? shapes_.of(key(frame), sharded, frame.recomputation)
                        : shapes_.passes(key(frame), sharded);
  }
}

Layout LayoutFrames::shaped(const LayoutFrame& frame, std::uint32_t zero) const {
  LayoutChoice own = choice(frame);
  own.zero = zero;
  Layout layout = without_layers(base_, own, groups_[frame.group].like->slices);
  layout.model = shapes_.model(key(frame), runs_sharded(zero), frame.recomputation);
  return layout;
}

OrderShape LayoutFrames::shape(const LayoutFrame& frame, const OrderChoice& order,
                               bool gathers) const {
  return {.cells = double(space_.degrees[frame.degrees].microbatches) * order.slices,
          .splits = order.splits,
          .joins = order.joins,
          .fused = order.fused,
          .gathers = gathers,
          .spares_last = space_.recomputations[frame.recomputation].mode == "except_last",
          .early = base_.scenario.recompute.early};
}

void LayoutFrames::find_placements() {
  for (std::uint16_t group = 0; group < groups_.size(); ++group) {
    for (const LayoutChoice& degrees : space_.degrees) {
      const OrderChoice& order = *groups_[group].like;
      const std::pair at{group, degrees.pipeline};
      const bool legal = std::ranges::any_of(groups_[group].orders, [&](std::uint32_t number) {
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
    stage_of_layer_[stages] =
        stage_of_layers(partition_of(even->cut(problem.problem), problem), model.layers.size());
  }
}

/// Those that layouts of some degrees may have.
std::vector<std::uint16_t> LayoutFrames::groups_of(const LayoutChoice& degrees) const {
  std::vector<std::uint16_t> groups;
  for (std::uint16_t group = 0; group < groups_.size(); ++group) {
    if (placement(group, degrees.pipeline) == nullptr) continue;
    const bool legal =
        degrees.pipeline == 1 || why_no_order(base_.task, degrees, *groups_[group].like) == nullptr;
    if (legal) groups.push_back(group);
  }
  return groups;
}

/// Adds a frame unless its recomputation goes not with its order.
void LayoutFrames::add_unjudged(LayoutFrame frame, std::vector<LayoutFrame>& frames) const {
  const LayoutChoice& degrees = space_.degrees[frame.degrees];
  const OrderChoice& order = *groups_[frame.group].like;
  const RecomputeChoice& recompute = space_.recomputations[frame.recomputation];
  if (why_no_recomputation(base_.task, degrees, order, recompute) != nullptr) return;
  frame.some_layers =
      static_cast<std::uint16_t>(some_layers(base_.task, degrees, order, recompute));
  frame.bound_by = bound_by_[frame.partition];
  frames.push_back(frame);
}

std::vector<LayoutFrame> LayoutFrames::unjudged(std::uint32_t number) const {
  const LayoutChoice& degrees = space_.degrees[number];
  const std::vector<std::uint16_t> groups = groups_of(degrees);
  std::vector<LayoutFrame> frames;
  for (const bool sequence : sequence_choices(base_.task, degrees, only_)) {
    for (std::uint8_t r = 0; r < space_.recomputations.size(); ++r) {
      for (std::uint8_t p = 0; p < space_.partitions.size(); ++p) {
        for (const std::uint16_t group : groups) {
          add_unjudged({.degrees = number,
                        .group = group,
                        .sequence = sequence,
                        .recomputation = r,
                        .partition = p},
                       frames);
        }
      }
    }
  }
  return frames;
}

/// Of the frames of some degrees, the first of each shape and kind of cells.
std::vector<LayoutFrame> LayoutFrames::different(std::uint32_t number) const {
  const LayoutChoice& degrees = space_.degrees[number];
  if (space_.partitions.empty()) return {};
  const std::vector<std::uint16_t> groups = groups_of(degrees);
  std::vector<LayoutFrame> all;
  for (const bool sequence : sequence_choices(base_.task, degrees, only_)) {
    for (std::uint8_t r = 0; r < space_.recomputations.size(); ++r) {
      for (const std::uint16_t group : groups) {
        const bool known = std::ranges::any_of(all, [&](const LayoutFrame& one) {
          return one.sequence == sequence &&
                 same_cells(*groups_[one.group].like, *groups_[group].like);
        });
        if (known) continue;
        add_unjudged({.degrees = number, .group = group, .sequence = sequence, .recomputation = r},
                     all);
      }
    }
  }
  return all;
}

/// The work of a frame on the stack where it takes least.
double LayoutFrames::rough_bound(const LayoutFrame& frame) const {
  if (frame.bound_by == BoundBy::nothing) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (const std::uint32_t zero : space_.zeros) least = std::min(least, work_us(frame, zero));
  return least;
}

std::vector<LayoutFrame> LayoutFrames::of_degrees(std::uint32_t degrees) {
  std::vector<LayoutFrame> frames = unjudged(degrees);
  const bool asks = std::ranges::any_of(
      frames, [](const LayoutFrame& frame) { return frame.bound_by == BoundBy::priced_cut; });
  if (asks && space_.degrees[degrees].pipeline > 1) find_link(degrees);
  for (LayoutFrame& frame : frames) {
    find_layers(frame, false);
    if (times(frame, space_.zeros.front()) == nullptr) frame.refusal = no_such_degrees;
    frame.bound_us = rough_bound(frame);
  }
  return frames;
}

std::vector<DegreesBounds> LayoutFrames::price_degrees(std::size_t jobs,
                                                       const std::function<bool()>& stop) {
  std::vector<std::vector<LayoutFrame>> frames_by_degrees;
  for (std::uint32_t number = 0; number < space_.degrees.size() && !stop(); ++number) {
    frames_by_degrees.push_back(different(number));
    for (const LayoutFrame& frame : frames_by_degrees.back()) {
      shapes_.ask(key(frame), choice(frame));
    }
  }
  shapes_.price(jobs, stop);
  if (stop()) return {};
  std::vector<DegreesBounds> all;
  for (std::vector<LayoutFrame>& frames : frames_by_degrees) {
    for (LayoutFrame& frame : frames) find_layers(frame, false);
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
    bounds.bound_us = std::min(bounds.bound_us, known ? rough_bound(frame) : 0);
    bounds.least_bytes = std::min(bounds.least_bytes, known ? mean_bytes(frame) : 0);
  }
  return bounds;
}

/// On the stack of a ZeRO level.
double LayoutFrames::bound_of(const LayoutFrame& frame, const std::vector<std::uint32_t>& stage_of,
                              std::uint32_t zero) const {
  const LayoutChoice& degrees = space_.degrees[frame.degrees];
  const OrderChoice& order = *groups_[frame.group].like;
  const Placement& ranks = *placement(frame.group, degrees.pipeline);
  const OrderShape cells = shape(frame, order, true);
  const std::vector<StageBounds> times = stage_times(frame, ranks, stage_of, zero);
  if (frame.has_cut()) {
    return bound_rounding * step_bound_us(ranks, times, cells);
  }
  const double share = order.fused ? 0.5 : 1;  // a cell takes the longer of its parts
  return bound_rounding * share * equal_part_us(times, cells, ranks.ranks(), ranks.chains().size());
}

void LayoutFrames::judge(LayoutFrame& frame) const {
  frame.judged = true;
  frame.layers = {};
  find_layers(frame, true);
  if (times(frame, space_.zeros.front()) == nullptr) {
    frame.refusal = no_such_degrees;
    return;
  }
  try {
    judge_cut(frame);
  } catch (const InputError&) {  // of the partitioner: the simulation says why
    frame.bound_by = BoundBy::equal_parts;
    judge_cut(frame);
  }
}

void LayoutFrames::judge_cut(LayoutFrame& frame) const {
  const std::uint32_t least_zero = space_.zeros.front();
  if (space_.recomputations[frame.recomputation].mode == "selective" &&
      frees_next_to_nothing(*times(frame, least_zero),
                            *shapes_.of(key(frame), runs_sharded(least_zero), shapes_.nothing()))) {
    frame.refusal = "selective recomputation frees next to nothing";
    return;
  }
  if (frame.bound_by == BoundBy::nothing) {
    frame.may_fit = UINT8_MAX;
    return;
  }
  const Placement& ranks = *placement(frame.group, space_.degrees[frame.degrees].pipeline);
  frame.bound_us = frame.least_bytes = std::numeric_limits<double>::infinity();
  const std::vector<LayerTimes>* layers = nullptr;
  std::vector<std::uint32_t> stage_of;
  for (const std::uint32_t zero : space_.zeros) {
    if (times(frame, zero) != layers) {  // of another stack
      layers = times(frame, zero);
      stage_of = stages_of_layers(frame, ranks, zero);
      frame.bound_us = std::min(frame.bound_us, bound_of(frame, stage_of, zero));
    }
    judge_memory(stage_of, zero, frame);
  }
}

}  // namespace penstock
