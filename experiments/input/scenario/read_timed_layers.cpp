#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/scenario/model_section.hpp"
#include "experiments/input/scenario/repeats.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

Layer read_layer(const json& object, const std::string& source) {
  Layer layer;
  layer.source = source;
  take(object, "name", layer.name);
  take(object, "forward_us", layer.forward_us);
  take(object, "backward_us", layer.backward_us);
  take(object, "backward_input_us", layer.backward_input_us);
  take(object, "backward_weight_us", layer.backward_weight_us);
  take(object, "recompute_us", layer.recompute_us);
  take(object, "activation_bytes", layer.activation_bytes);
  take(object, "stash_bytes", layer.stash_bytes);
  take(object, "parameter_bytes", layer.parameter_bytes);
  take(object, "recomputed_bytes", layer.recomputed_bytes);
  take(object, "workspace_bytes", layer.workspace_bytes);
  take(object, "pending_weight_bytes", layer.pending_weight_bytes);
  take(object, "selective_recompute_us", layer.selective.recompute_us);
  take(object, "selective_stash_bytes", layer.selective.stash_bytes);
  take(object, "selective_recomputed_bytes", layer.selective.recomputed_bytes);
  return layer;
}

}  // namespace

ModelGraph read_timed_layers(const json& layers, const std::string& place) {
  ModelGraph graph;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string source = fmt::format("{}/{}", place, i);
    const std::uint32_t times = repeats(layers[i], source, graph.layers.size());
    const Layer layer = read_layer(layers[i], source);
    for (std::uint32_t copy = 0; copy < times; ++copy) {
      graph.layers.push_back(layer);
      if (times > 1 && !layer.name.empty()) graph.layers.back().name += fmt::format(" {}", copy);
    }
  }
  graph.connect_as_chain();
  return graph;
}

void read_edges(const json& edges, ModelGraph& graph) {
  graph.edges.clear();
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (const json& end : edges[i]) {
      if (end.get<std::uint32_t>() < graph.layers.size()) continue;
      throw InputError(fmt::format("/model/edges/{}", i),
                       fmt::format("unknown layer {}; layers are 0 to {}", end.get<std::uint32_t>(),
                                   graph.layers.size() - 1));
    }
    graph.edges.emplace_back(LayerIndex{edges[i][0].get<std::uint32_t>()},
                             LayerIndex{edges[i][1].get<std::uint32_t>()});
  }
  topological_order(graph);  // refuses a cycle
}

}  // namespace penstock
