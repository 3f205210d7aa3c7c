#include "experiments/input/model_files/placed_layers.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// The layers of a model by their ids in other files.
std::unordered_map<std::uint32_t, LayerIndex> layers_by_id(const ModelFile& model) {
  std::unordered_map<std::uint32_t, LayerIndex> layers;
  for (std::uint32_t i = 0; i < model.graph.layers.size(); ++i) {
    layers.emplace(model.layer_ids.empty() ? i : model.layer_ids[i], LayerIndex{i});
  }
  return layers;
}

}  // namespace

std::vector<std::vector<LayerIndex>> placed_layers(const ModelFile& cut, const ModelFile& model) {
  const auto layers = layers_by_id(model);
  std::vector<std::vector<LayerIndex>> stages;
  std::vector<bool> placed(layers.size());
  for (const auto& ids : cut.stages) {
    std::vector<LayerIndex>& stage = stages.emplace_back();
    for (const LayerIndex id : ids) {
      const auto found = layers.find(index(id));
      if (found == layers.end() && !model.layer_ids.empty()) continue;
      if (found == layers.end()) {
        throw InputError(fmt::format("stage {} has the layer {}; the model has {} layers",
                                     stages.size() - 1, index(id), layers.size()));
      }
      stage.push_back(found->second);
      placed[index(found->second)] = true;
    }
    if (stage.empty()) {
      throw InputError(fmt::format("stage {} has no layer of the model", stages.size() - 1));
    }
  }
  for (std::uint32_t i = 0; i < placed.size(); ++i) {
    if (!placed[i]) {
      throw InputError(fmt::format("layer {} ({}) is in no stage", i, model.graph.layers[i].name));
    }
  }
  return stages;
}

}  // namespace penstock
