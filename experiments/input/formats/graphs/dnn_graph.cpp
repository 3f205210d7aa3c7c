#include "experiments/input/formats/graphs/dnn_graph.hpp"

#include <fmt/format.h>

#include <map>
#include <queue>

#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

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
  DnnEdge edge;
  edge.from = graph.ids.named_by(view, "sourceId");
  edge.to = graph.ids.named_by(view, "destId");
  edge.where = view.where();
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

}  // namespace

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

}  // namespace penstock
