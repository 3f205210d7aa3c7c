#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/json_view.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/graphs/dnn_graph.hpp"
#include "experiments/input/formats/registry.hpp"

namespace penstock::dnn_partitioning_file {
namespace {

using nlohmann::json;

Layer layer_of(const DnnNode& node) {
  Layer layer;
  layer.name = node.name;
  layer.source = node.where;
  layer.forward_us = node.time_us;
  layer.parameter_bytes = node.bytes;
  return layer;
}

/// The layer of each forward node; layers are numbered in node order.
std::vector<std::uint32_t> layers_of_nodes(const DnnGraph& graph) {
  std::vector<std::uint32_t> layers(graph.nodes.size());
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!graph.nodes[i].backward) layers[i] = next++;
  }
  return layers;
}

/// Shares of the forward nodes in their common backward nodes.
std::vector<double> shares_of(const DnnGraph& graph, const std::vector<std::uint32_t>& forward) {
  double all = 0;
  for (const std::uint32_t node : forward) all += graph.nodes[node].time_us;
  std::vector<double> shares;
  shares.reserve(forward.size());
  for (const std::uint32_t node : forward) {
    shares.push_back(all > 0 ? graph.nodes[node].time_us / all
                             : 1.0 / static_cast<double>(forward.size()));
  }
  return shares;
}

/// Adds the backward nodes of a graph to the layers of their forward nodes.
void add_backward(const DnnGraph& graph, const std::vector<std::uint32_t>& layers,
                  std::vector<Layer>& to) {
  const std::vector<DnnHome> homes = homes_of(graph);
  for (Layer& layer : to) layer.backward_us = 0;
  for (const DnnHome& home : homes) {
    const std::vector<double> shares = shares_of(graph, home.forward);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      Layer& layer = to[layers[home.forward[i]]];
      for (const std::uint32_t node : home.backward) {
        *layer.backward_us += graph.nodes[node].time_us * shares[i];
        layer.parameter_bytes += graph.nodes[node].bytes * shares[i];
      }
    }
  }
}

/// Adds the edges between forward nodes. Edges between backward nodes mirror them, and edges from
/// forward to backward nodes stay within a stage.
std::vector<std::string> add_edges(const DnnGraph& graph, const std::vector<std::uint32_t>& layers,
                                   ModelGraph& to) {
  std::vector<std::string> places;
  for (const DnnEdge& edge : graph.edges) {
    if (graph.nodes[edge.to].backward) continue;
    to.edges.emplace_back(LayerIndex{layers[edge.from]}, LayerIndex{layers[edge.to]});
    double& bytes = to.layers[layers[edge.from]].activation_bytes;
    bytes = std::max(bytes, edge.bytes);
    places.push_back(edge.where);
  }
  return places;
}

bool has_backward(const DnnGraph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const DnnNode& node) { return node.backward; });
}

void add_notes(const DnnGraph& graph, std::vector<std::string>& notes) {
  notes.emplace_back(
      "parameter_bytes is all that the format calls size, weights and activations, of a node and "
      "its backward nodes; it is held once, however many microbatches are in flight");
  notes.emplace_back(has_backward(graph)
                         ? "backward nodes are part of the layers whose colorClass they share"
                         : "there are no backward nodes: it is a model for inference");
  std::size_t on_host = 0;
  std::size_t by_cost = 0;
  for (const DnnNode& node : graph.nodes) on_host += node.on_host ? 1 : 0;
  for (const DnnEdge& edge : graph.edges) by_cost += edge.by_cost ? 1 : 0;
  if (on_host > 0) {
    notes.push_back(fmt::format("{} on CPUs only; cpuLatency is taken, whatever the device",
                                counted(on_host, "node runs", "nodes run")));
  }
  if (by_cost > 0) {
    notes.push_back(
        fmt::format("{} a cost and no size; it is assumed to be that of "
                    "2 GiB/s, as in the published operator graphs",
                    counted(by_cost, "edge has", "edges have")));
  }
}

bool recognizes(std::string_view text) {
  return has_outer_key(text, "maxFPGAs") || has_outer_key(text, "maxSizePerFPGA");
}

ModelFile read_model(std::string_view text, const ModelFileOptions& /*options*/) {
  const json document = parse_json(text);
  const DnnGraph graph = read_dnn_graph(JsonView(document));
  const std::vector<std::uint32_t> layers = layers_of_nodes(graph);
  ModelFile file;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].backward) continue;
    file.graph.layers.push_back(layer_of(graph.nodes[i]));
    file.layer_ids.push_back(graph.ids.all()[i]);
  }
  if (has_backward(graph)) add_backward(graph, layers, file.graph.layers);
  put_model_in_order(file, add_edges(graph, layers, file.graph));
  add_notes(graph, file.notes);
  return file;
}

}  // namespace

constinit extern const FormatEntry dnn_partitioning_entry{
    .name = "dnn-partitioning",
    .suffix = ".json",
    .summary =
        "a profiled graph of layers or operators, for inference or training, as the "
        "dnn-partitioning programs take it; read",
    .recognizes = recognizes,
    .read_model = read_model};

}  // namespace penstock::dnn_partitioning_file
