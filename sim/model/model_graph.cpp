#include "sim/model/model_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <cmath>
#include <functional>
#include <queue>
#include <tuple>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;

Graph graph_of(const ModelGraph& model) {
  Graph graph(model.layers.size());
  for (std::size_t edge = 0; edge < model.edges.size(); ++edge) {
    const auto& [from, to] = model.edges[edge];
    const std::uint32_t last = std::max(index(from), index(to));
    if (last >= model.layers.size()) {
      throw InputError(fmt::format("/model/edges/{}", edge),
                       fmt::format("it names layer {}; there are {}", last, model.layers.size()));
    }
    boost::add_edge(index(from), index(to), graph);
  }
  return graph;
}

/// Absent numbers are NaN.
bool alike(const LayerPart& one, const LayerPart& other) {
  return one.kind == other.kind &&
         std::ranges::equal(one.numbers, other.numbers, [](const auto& a, const auto& b) {
           const bool absent = std::isnan(a.second) && std::isnan(b.second);
           return a.first == b.first && (absent || a.second == b.second);
         });
}

bool alike(const LayerKey& one, const LayerKey& other) {
  return one.kind == other.kind && one.examples == other.examples &&
         one.sequence == other.sequence &&
         std::ranges::equal(one.parts, other.parts,
                            [](const LayerPart& a, const LayerPart& b) { return alike(a, b); });
}

/// All that a layer costs beside its key.
auto costs_of(const Layer& layer) {
  return std::tie(layer.forward_us, layer.backward_us, layer.backward_input_us,
                  layer.backward_weight_us, layer.recompute_us, layer.exchange_us,
                  layer.activation_bytes, layer.stash_bytes, layer.freed_by_input_bytes,
                  layer.offloaded_bytes, layer.parameter_bytes, layer.recomputed_bytes,
                  layer.uncoded_bytes, layer.workspace_bytes, layer.pending_weight_bytes,
                  layer.selective, layer.expert_parameter_bytes, layer.gathered_share, layer.copies,
                  layer.spread, layer.expert_copies, layer.expert_spread, layer.cut_evenly,
                  layer.at_an_end, layer.module, layer.work);
}

}  // namespace

bool cost_alike(const Layer& one, const Layer& other) {
  return costs_of(one) == costs_of(other) && alike(one.key, other.key);
}

void ModelGraph::connect_as_chain() {
  edges.clear();
  for (std::uint32_t i = 1; i < layers.size(); ++i) {
    edges.emplace_back(LayerIndex{i - 1}, LayerIndex{i});
  }
}

std::vector<LayerIndex> sortable_layers(const ModelGraph& model) {
  const Graph graph = graph_of(model);
  std::vector<std::size_t> open_inputs(model.layers.size());
  // Boost's topological_sort breaks ties by depth-first search; taking the smallest ready layer
  // keeps the author's order.
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t layer = 0; layer < open_inputs.size(); ++layer) {
    open_inputs[layer] = boost::in_degree(layer, graph);
    if (open_inputs[layer] == 0) ready.push(layer);
  }
  std::vector<LayerIndex> order;
  order.reserve(open_inputs.size());
  while (!ready.empty()) {
    const std::uint32_t layer = ready.top();
    ready.pop();
    order.push_back(LayerIndex{layer});
    for (auto [edge, end] = boost::out_edges(layer, graph); edge != end; ++edge) {
      const auto target = static_cast<std::uint32_t>(boost::target(*edge, graph));
      if (--open_inputs[target] == 0) ready.push(target);
    }
  }
  return order;
}

std::vector<LayerIndex> topological_order(const ModelGraph& model) {
  std::vector<LayerIndex> order = sortable_layers(model);
  if (order.size() == model.layers.size()) return order;
  std::vector<bool> placed(model.layers.size());
  for (const LayerIndex layer : order) placed[index(layer)] = true;
  throw InputError("/model/edges",
                   fmt::format("layer {} depends on itself through a cycle of edges; a model is a "
                               "graph without cycles",
                               std::ranges::find(placed, false) - placed.begin()));
}

}  // namespace penstock
