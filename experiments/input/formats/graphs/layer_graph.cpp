#include "experiments/input/formats/graphs/layer_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"
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
  const auto first = std::ranges::find_if(input, [](std::size_t edge) { return edge != none; });
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

void NodeIds::add(const JsonView& node) {
  const JsonView view = node.at("id");
  const std::uint32_t id = view.whole(UINT32_MAX);
  const auto position = static_cast<std::uint32_t>(ids_.size());
  const auto [same, added] = positions_.emplace(id, position);
  if (!added) {
    view.fail(fmt::format("node {} of the list has the id {} already; each node has its own",
                          same->second, id));
  }
  ids_.push_back(id);
}

std::uint32_t NodeIds::named_by(const JsonView& edge, std::string_view key) const {
  const JsonView view = edge.at(key);
  const std::uint32_t id = view.whole(UINT32_MAX);
  const auto found = positions_.find(id);
  if (found == positions_.end()) {
    view.fail(fmt::format("no node has the id {}; an edge joins two nodes", id));
  }
  return found->second;
}

std::string name_of_node(const JsonView& node) {
  if (const auto name = node.find("name")) return name->text();
  return fmt::format("node{}", node.at("id").whole(UINT32_MAX));
}

void put_model_in_order(ModelFile& file, const std::vector<std::string>& edge_places) {
  if (const auto wrong = edge_on_cycle(file.graph)) {
    throw InputError(edge_places[*wrong],
                     "the edge is part of a cycle; a model is a graph without cycles");
  }
  const std::vector<LayerIndex> place = put_in_order(file.graph);
  std::vector<std::uint32_t> ids(place.size());
  for (std::size_t i = 0; i < place.size(); ++i) ids[index(place[i])] = file.layer_ids[i];
  file.layer_ids = std::move(ids);
}

}  // namespace penstock
