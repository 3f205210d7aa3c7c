#include "experiments/input/formats/graphs/json_graph.hpp"

#include <fmt/format.h>

#include "experiments/input/formats/graphs/graph_order.hpp"
#include "sim/base/error.hpp"

namespace penstock {

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
