#include "experiments/plan/planner/bounds/layer_times.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "experiments/input/long_work/parallel.hpp"
#include "experiments/plan/planner/space/layout_choice.hpp"
#include "experiments/run/layout/layout_model.hpp"
#include "experiments/run/layout/stack_memory.hpp"
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
  return (whole(one) && whole(other)) || (one.mode == other.mode && one.stages == other.stages);
}

/// The hardware of a layout without the links of its machine, which may be too small for it: layers
/// and collectives take the same times.
std::unique_ptr<HardwareModel> without_links(const Layout& layout) {
  HardwareSpec spec = layout.hardware.spec;
  if (spec.machine && spec.machine->topology) spec.topology.reset();
  return find_named(cost_model_entries(), layout.hardware.cost_model)->make(spec);
}

}  // namespace

std::vector<LayerTimes> layer_times(const ModelGraph& model, const HardwareModel& hardware) {
  std::vector<LayerTimes> all;
  for (const Layer& layer : model.layers) {
    LayerTimes& times = all.emplace_back();
    for (std::size_t pass = 0; pass < times.us.size(); ++pass) {
      times.us[pass] = hardware.compute_us(layer, Pass{static_cast<std::uint8_t>(pass)});
    }
    times.dense_bytes = layer.parameter_bytes - layer.expert_parameter_bytes;
    times.expert_bytes = layer.expert_parameter_bytes;
    times.copies = layer.copies;
    times.expert_copies = layer.expert_copies;
    times.expert_spread = layer.expert_spread;
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
  return times_[reduced_layer_[number]].us[static_cast<std::size_t>(pass)];
}

LayerShapes::LayerShapes(const PlanBase& base, const LayoutSpace& space)
    : base_(base), space_(space) {
  for (const RecomputeChoice& one : space.recomputations) {
    const auto first =
        std::find_if(space.recomputations.begin(), space.recomputations.end(),
                     [&](const RecomputeChoice& other) { return same_layers(one, other); });
    const LayoutChoice choice{.recompute = one.mode, .recomputes_stages = one.stages};
    recomputations_.push_back(with_choice(base.reduced, base.task, choice).recompute);
    like_.push_back(static_cast<std::uint8_t>(first - space.recomputations.begin()));
  }
}

const std::vector<LayerTimes>* LayerShapes::of(const LayerShapeKey& key,
                                               std::uint8_t recomputation) const {
  const auto found = known_.find(key);
  if (found == known_.end() || !found->second) return nullptr;
  return &(*found->second)[like_[recomputation]];
}

void LayerShapes::price(std::size_t jobs) {
  std::vector<std::pair<const LayerShapeKey*, const LayoutChoice*>> work;
  for (const auto& [key, choice] : asked_) {
    if (known_.try_emplace(key).second) work.emplace_back(&key, &choice);
  }
  in_parallel(
      work.size(),
      [&](std::size_t i) {
        known_.find(*work[i].first)->second = priced(*work[i].first, *work[i].second);
      },
      {}, jobs);
}

std::optional<LayerShapes::ByRecomputation> LayerShapes::priced(const LayerShapeKey& key,
                                                                LayoutChoice choice) const {
  choice.zero = key.sharded ? 3 : 0;
  ByRecomputation all(like_.size());
  try {
    const Layout layout = with_shape(base_, choice, key.slices);
    std::vector<ModelGraph> models =
        models_of(base_.reduced, recomputations_, layout.batch, layout.shape);
    for (ModelGraph& model : models) free_logits(layout, model);
    const auto hardware = without_links(layout);
    all.front() = layer_times(models.front(), *hardware);
    for (std::size_t r = 1; r < all.size(); ++r) {
      if (like_[r] == r) all[r] = with_recomputation(all.front(), models[r], *hardware);
    }
    return all;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace penstock
