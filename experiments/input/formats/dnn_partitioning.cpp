#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/graphs/layer_graph.hpp"
#include "experiments/input/formats/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock::dnn_partitioning_file {
namespace {

/// A node of a dnn-partitioning graph.
struct DnnNode {
  std::string name;
  std::string where;
  double time_us = 0;
  double bytes = 0;
  bool backward = false;
  bool on_host = false;                // runs on a CPU only; its time is CPU time
  std::optional<std::uint32_t> color;  // nodes of one color share a device
};

/// An edge by the positions of its nodes.
struct DnnEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  double bytes = 0;
  bool by_cost = false;  // stated as a cost, not as bytes
  std::string where;
};

struct DnnGraph {
  NodeIds ids;
  std::vector<DnnNode> nodes;
  std::vector<DnnEdge> edges;
};

/// Forward nodes that stay together, and their backward nodes.
struct DnnHome {
  std::vector<std::uint32_t> forward;
  std::vector<std::uint32_t> backward;
};

constexpr double most_ms = Limits::time_us / 1000;
constexpr std::uint32_t homeless = UINT32_MAX;

bool flag_or(const JsonView& view, std::string_view key, bool otherwise) {
  const auto found = view.find(key);
  return found ? found->flag() : otherwise;
}

DnnNode node_of(const JsonView& view) {
  DnnNode node;
  node.name = name_of_node(view);
  node.where = view.where();
  node.on_host = !flag_or(view, "supportedOnFpga", true);
  node.backward = flag_or(view, "isBackwardNode", false);
  node.time_us = view.at(node.on_host ? "cpuLatency" : "fpgaLatency").number(0, most_ms) * 1000;
  node.bytes = view.at("size").number(0, Limits::bytes);
  if (const auto color = view.find("colorClass")) node.color = color->whole(UINT32_MAX);
  return node;
}

DnnEdge edge_of(const JsonView& view, const DnnGraph& graph) {
  constexpr double bytes_per_ms = 2.0 * 1024 * 1024 * 1024 / 1000;
  DnnEdge edge{.from = graph.ids.named_by(view, "sourceId"),
               .to = graph.ids.named_by(view, "destId"),
               .where = view.where()};
  const auto size = view.find("size");
  edge.by_cost = !size.has_value();
  edge.bytes =
      size ? size->number(0, Limits::bytes) : view.at("cost").number(0, most_ms) * bytes_per_ms;
  if (graph.nodes[edge.from].backward && !graph.nodes[edge.to].backward) {
    view.fail("a backward node feeds a forward node; gradients go to backward nodes only");
  }
  return edge;
}

/// The neighbours of each node over edges, successors first.
std::vector<std::vector<std::uint32_t>> neighbours_of(const DnnGraph& graph) {
  std::vector<std::vector<std::uint32_t>> neighbours(graph.nodes.size());
  for (const DnnEdge& edge : graph.edges) neighbours[edge.from].push_back(edge.to);
  for (const DnnEdge& edge : graph.edges) neighbours[edge.to].push_back(edge.from);
  return neighbours;
}

/// The home of each node, by color alone.
std::vector<std::uint32_t> homes_by_color(const DnnGraph& graph, std::vector<DnnHome>& homes) {
  std::map<std::uint32_t, std::uint32_t> of_color;
  std::vector<std::uint32_t> home(graph.nodes.size(), homeless);
  for (std::uint32_t i = 0; i < home.size(); ++i) {
    const DnnNode& node = graph.nodes[i];
    if (node.backward) continue;
    const auto next = static_cast<std::uint32_t>(homes.size());
    home[i] = node.color ? of_color.emplace(*node.color, next).first->second : next;
    if (home[i] == next) homes.emplace_back();
    homes[home[i]].forward.push_back(i);
  }
  for (std::uint32_t i = 0; i < home.size(); ++i) {
    const DnnNode& node = graph.nodes[i];
    if (!node.backward || !node.color) continue;
    const auto found = of_color.find(*node.color);
    if (found != of_color.end()) home[i] = found->second;
  }
  return home;
}

/// Spreads homes along edges to nodes without one.
void spread(const DnnGraph& graph, std::vector<std::uint32_t>& home) {
  const auto neighbours = neighbours_of(graph);
  std::queue<std::uint32_t> reached;
  for (std::uint32_t i = 0; i < home.size(); ++i) {
    if (home[i] != homeless) reached.push(i);
  }
  while (!reached.empty()) {
    const std::uint32_t node = reached.front();
    reached.pop();
    for (const std::uint32_t next : neighbours[node]) {
      if (home[next] != homeless) continue;
      home[next] = home[node];
      reached.push(next);
    }
  }
}

/// Reads nodes and edges. Throws InputError with a JSON pointer.
DnnGraph read_dnn_graph(const JsonView& document) {
  DnnGraph graph;
  for (const JsonView& item : document.at("nodes").items()) {
    graph.ids.add(item);
    graph.nodes.push_back(node_of(item));
  }
  if (graph.nodes.empty()) document.at("nodes").fail("there are no nodes; one at least is needed");
  for (const JsonView& item : document.at("edges").items()) {
    graph.edges.push_back(edge_of(item, graph));
  }
  return graph;
}

/// The home of each node, by its color. A backward node without a color, or whose color has no
/// forward node, joins the nearest node with a home, over edges in either direction. Throws
/// InputError if no edges connect it to such a node.
std::vector<DnnHome> homes_of(const DnnGraph& graph) {
  std::vector<DnnHome> homes;
  std::vector<std::uint32_t> home = homes_by_color(graph, homes);
  spread(graph, home);
  for (std::uint32_t i = 0; i < home.size(); ++i) {
    if (home[i] == homeless) {
      throw InputError(graph.nodes[i].where,
                       "the backward node belongs to no forward node; it needs the colorClass of "
                       "one, or edges that lead to one");
    }
    if (graph.nodes[i].backward) homes[home[i]].backward.push_back(i);
  }
  return homes;
}

using nlohmann::json;

Layer layer_of(const DnnNode& node) {
  return {.name = node.name,
          .source = node.where,
          .forward_us = node.time_us,
          .parameter_bytes = node.bytes};
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
  return std::ranges::any_of(graph.nodes, &DnnNode::backward);
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
