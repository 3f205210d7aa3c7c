#include "experiments/input/formats/graphs/graph_order.hpp"

#include <algorithm>

#include "sim/model/model_graph.hpp"

namespace penstock {
namespace {

constexpr std::size_t none = SIZE_MAX;

/// For each layer on or after a cycle, an edge from another such layer; none for sortable layers.
std::vector<std::size_t> open_inputs(const ModelGraph& graph) {
  std::vector<bool> sortable(graph.layers.size());
  for (const LayerIndex layer : sortable_layers(graph)) sortable[index(layer)] = true;
  std::vector<std::size_t> input(graph.layers.size(), none);
  for (std::size_t edge = 0; edge < graph.edges.size(); ++edge) {
    const auto& [from, to] = graph.edges[edge];
    if (!sortable[index(from)]) input[index(to)] = edge;
  }
  return input;
}

}  // namespace

std::optional<std::size_t> edge_on_cycle(const ModelGraph& graph) {
  const std::vector<std::size_t> input = open_inputs(graph);
  const auto first =
      std::find_if(input.begin(), input.end(), [](std::size_t edge) { return edge != none; });
  if (first == input.end()) return std::nullopt;
  // Following edges backward from such a layer ends in a cycle.
  std::vector<bool> seen(input.size());
  std::size_t edge = *first;
  while (!seen[index(graph.edges[edge].second)]) {
    seen[index(graph.edges[edge].second)] = true;
    edge = input[index(graph.edges[edge].first)];
  }
  return edge;
}

std::vector<LayerIndex> put_in_order(ModelGraph& graph) {
  const std::vector<LayerIndex> order = topological_order(graph);
  std::vector<LayerIndex> place(order.size());
  std::vector<Layer> layers;
  layers.reserve(order.size());
  for (const LayerIndex layer : order) {
    place[index(layer)] = LayerIndex{static_cast<std::uint32_t>(layers.size())};
    layers.push_back(std::move(graph.layers[index(layer)]));
  }
  graph.layers = std::move(layers);
  for (auto& edge : graph.edges) {
    edge = {place[index(edge.first)], place[index(edge.second)]};
  }
  return place;
}

}  // namespace penstock
