#include "experiments/plan/planner/bounds/layer_times.hpp"

#include "experiments/plan/planner/bounds/plan_base.hpp"

namespace penstock {
namespace {

void set_kept(const Layer& layer, LayerTimes& times) {
  times.kept_bytes = layer.stash_bytes;
  times.freed_bytes = layer.freed_by_input_bytes;
  times.pending_bytes = layer.pending_weight_bytes;
  times.workspace_bytes = layer.workspace_bytes;
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

}  // namespace penstock
