#include "experiments/planner/bounds/layer_times.hpp"

#include "experiments/planner/bounds/plan_base.hpp"

namespace penstock {
std::vector<LayerTimes> layer_times(const Layout& layout) {
  const auto hardware = hardware_without_links(layout);
  std::vector<LayerTimes> all;
  for (const Layer& layer : layout.model.layers) {
    LayerTimes& times = all.emplace_back();
    for (std::size_t pass = 0; pass < times.us.size(); ++pass) {
      times.us[pass] = hardware->compute_us(layer, Pass{static_cast<std::uint8_t>(pass)});
    }
    times.dense_bytes = layer.parameter_bytes - layer.expert_parameter_bytes;
    times.expert_bytes = layer.expert_parameter_bytes;
    times.copies = layer.copies;
    times.expert_copies = layer.expert_copies;
    times.kept_bytes = layer.stash_bytes;
  }
  return all;
}

std::optional<double> KnownLayers::compute_us(const Layer& layer, Pass pass) const {
  const auto number = static_cast<std::size_t>(&layer - model_.layers.data());
  return times_[reduced_layer_[number]].us[static_cast<std::size_t>(pass)];
}

}  // namespace penstock
