#include "experiments/plan/planner/bounds/layer_times.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "experiments/input/long_work/parallel.hpp"
#include "experiments/plan/planner/space/layout_choice.hpp"
#include "experiments/run/layout/layout_model.hpp"
#include "hardware_models/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

void set_kept(const Layer& layer, LayerTimes& times) {
  times.kept_bytes = layer.stash_bytes;
  times.freed_bytes = layer.freed_by_input_bytes;
  times.pending_bytes = layer.pending_weight_bytes;
  times.workspace_bytes = layer.workspace_bytes;
}

/// Whole stages are recomputed with both; which microbatches are does not concern a layer.
bool same_layers(const RecomputeChoice& one, const RecomputeChoice& other) {
  const auto whole = [](const RecomputeChoice& choice) {
    return choice.stages || choice.mode == "except_last";
  };
  return (whole(one) && whole(other)) ||
         (one.mode == other.mode && one.stages == other.stages && one.operators == other.operators);
}

/// The hardware of a layout without the links of its machine, which may be too small for it: layers
/// and collectives take the same times.
std::unique_ptr<HardwareModel> without_links(const Layout& layout) {
  HardwareSpec spec = layout.hardware.spec;
  if (spec.machine && spec.machine->topology) spec.topology.reset();
  return find_named(cost_model_entries(), layout.hardware.cost_model)->make(spec);
}

}  // namespace

std::vector<LayerTimes> layer_times(const ModelGraph& model, const HardwareModel& hardware,
                                    bool uses) {
  std::vector<LayerTimes> all;
  for (const Layer& layer : model.layers) {
    LayerTimes& times = all.emplace_back();
    for (std::size_t pass = 0; pass < static_cast<std::size_t>(Pass::recompute); ++pass) {
      times.us[pass] = hardware.compute_us(layer, Pass{static_cast<std::uint8_t>(pass)});
    }
    for (std::size_t pass = 0; uses && pass < times.use.size(); ++pass) {
      const auto use = hardware.use(layer, Pass{static_cast<std::uint8_t>(pass)});
      times.use[pass] = use.value_or(DeviceUse{});  // unknown where a layer states its times
    }
    times.parameters = parameters_of(layer);
    set_kept(layer, times);
  }
  return all;
}

std::vector<LayerTimes> with_recomputation(std::vector<LayerTimes> times, const ModelGraph& model,
                                           const HardwareModel& hardware) {
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Layer& layer = model.layers[i];
    times[i].us[static_cast<std::size_t>(Pass::recompute)] =
        hardware.compute_us(layer, Pass::recompute);
    set_kept(layer, times[i]);
  }
  return times;
}

std::optional<double> KnownLayers::compute_us(const Layer& layer, Pass pass) const {
  const auto number = static_cast<std::size_t>(&layer - model_.layers.data());
  return cut_.of(number).us[static_cast<std::size_t>(pass)];
}

LayerShapes::LayerShapes(const PlanBase& base, const LayoutSpace& space) : base_(base) {
  for (const bool sharded : {false, true}) {
    const bool any = std::ranges::any_of(
        space.zeros, [&](std::uint32_t zero) { return runs_sharded(zero) == sharded; });
    if (any) stacks_.push_back(sharded);
  }
  for (const RecomputeChoice& one : space.recomputations) {
    const auto first =
        std::ranges::find_if(space.recomputations,
                             [&](const RecomputeChoice& other) { return same_layers(one, other); });
    const LayoutChoice choice{
        .recompute = one.mode, .recomputes_stages = one.stages, .operators = one.operators};
    const Scenario scenario = with_choice(base.reduced, base.task, choice);
    recomputations_.push_back(scenario.recompute);
    const auto known = std::ranges::find_if(by_operators_, [&](const Scenario& other) {
      return other.recompute.operators == scenario.recompute.operators;
    });
    if (known == by_operators_.end()) by_operators_.push_back(scenario);
    like_.push_back(static_cast<std::uint8_t>(first - space.recomputations.begin()));
  }
  fuses_ = std::ranges::any_of(space.orders, [](const OrderChoice& order) { return order.fused; });
  find_nothing(space);
}

void LayerShapes::find_nothing(const LayoutSpace& space) {
  const auto& all = space.recomputations;
  const auto known = std::ranges::find(all, "none", &RecomputeChoice::mode);
  nothing_ = static_cast<std::uint8_t>(known - all.begin());
  if (known != all.end()) return;
  like_.push_back(nothing_);
  recomputations_.push_back({.mode = RecomputeMode::none});
  if (!by_operators_.empty())
    recomputations_.back().operators = by_operators_.front().recompute.operators;
}

const std::vector<LayerTimes>* LayerShapes::passes(const LayerShapeKey& key, bool sharded) const {
  const Shape& shape = shapes_.at(key);
  return shape.refused ? nullptr : &shape.stacks[sharded ? 1 : 0].passes;
}

const std::vector<LayerTimes>* LayerShapes::of(const LayerShapeKey& key, bool sharded,
                                               std::uint8_t recomputation) const {
  const Shape& shape = complete(key);
  return shape.refused ? nullptr : &shape.stacks[sharded ? 1 : 0].times[like_[recomputation]];
}

const ModelGraph& LayerShapes::model(const LayerShapeKey& key, bool sharded,
                                     std::uint8_t recomputation) const {
  return complete(key).stacks[sharded ? 1 : 0].models[like_[recomputation]];
}

void LayerShapes::price(std::size_t jobs, const std::function<bool()>& stop) {
  std::vector<std::pair<const LayerShapeKey*, const Shape*>> work;
  for (const auto& [key, shape] : shapes_) work.emplace_back(&key, &shape);
  const auto price_one = [&](std::size_t i) {
    if (!stop()) price(*work[i].first, *work[i].second);
  };
  in_parallel(work.size(), price_one, {}, jobs);
}

Layout LayerShapes::layout_of(const LayerShapeKey& key, const Shape& shape, bool sharded) const {
  LayoutChoice choice = shape.choice;
  choice.zero = sharded ? 3 : 1;  // what the lower level of a stack gathers is never used
  return without_layers(base_, choice, key.slices);
}

/// Calls with each stack's layout of a shape, and whether its layers are others than before: mostly
/// they are the same on both stacks.
template <class Visit>
void LayerShapes::for_each_stack(const LayerShapeKey& key, const Shape& shape, Visit visit) const {
  try {
    std::optional<CellShape> known;
    for (const bool sharded : stacks_) {
      const Layout layout = layout_of(key, shape, sharded);
      visit(layout, known != layout.shape, shape.stacks[sharded ? 1 : 0]);
      known = layout.shape;
    }
  } catch (const InputError&) {
    shape.refused = true;
  }
}

void LayerShapes::price(const LayerShapeKey& key, const Shape& shape) const {
  ModelGraph model;
  for_each_stack(key, shape, [&](const Layout& layout, bool others, OnStack& stack) {
    if (others) model = model_of(by_operators_.front(), layout.batch, layout.shape);
    stack.passes = layer_times(model, *without_links(layout), fuses_);
  });
}

/// A shape with all recomputations.
const LayerShapes::Shape& LayerShapes::complete(const LayerShapeKey& key) const {
  const Shape& shape = shapes_.at(key);
  std::call_once(shape.once, [&] {
    if (shape.refused) return;
    std::vector<ModelGraph> own;
    for_each_stack(key, shape, [&](const Layout& layout, bool others, OnStack& stack) {
      if (others) own = models(layout);
      complete(layout, own, stack);
    });
  });
  return shape;
}

/// The different layers by recomputation; the work of those with the same operators is computed
/// once.
std::vector<ModelGraph> LayerShapes::models(const Layout& layout) const {
  std::vector<ModelGraph> all(recomputations_.size());
  for (const Scenario& scenario : by_operators_) {
    std::vector<std::size_t> places;
    std::vector<RecomputeSection> own;
    for (std::size_t r = 0; r < recomputations_.size(); ++r) {
      if (recomputations_[r].operators != scenario.recompute.operators) continue;
      places.push_back(r);
      own.push_back(recomputations_[r]);
    }
    std::vector<ModelGraph> some = models_of(scenario, own, layout.batch, layout.shape);
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = std::move(some[i]);
  }
  return all;
}

void LayerShapes::complete(const Layout& layout, std::vector<ModelGraph> models,
                           OnStack& stack) const {
  const auto hardware = without_links(layout);
  stack.times.resize(like_.size());
  for (std::size_t r = 0; r < models.size(); ++r) {
    if (like_[r] != r) continue;
    fit_layers(layout, models[r]);
    stack.times[r] = with_recomputation(stack.passes, models[r], *hardware);
    const bool nothing = recomputations_[r].mode == RecomputeMode::none;
    for (LayerTimes& times : stack.times[r]) {
      if (nothing) times.us[static_cast<std::size_t>(Pass::recompute)].reset();
    }
    for (Layer& layer : models[r].layers) leave_marks_of_kernels(layer);
  }
  stack.models = std::move(models);
}

}  // namespace penstock
