#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/formats/graphs/json_graph.hpp"

namespace penstock {

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

/// Reads nodes and edges. Throws InputError with a JSON pointer.
DnnGraph read_dnn_graph(const JsonView& document);

/// Forward nodes that stay together, and their backward nodes.
struct DnnHome {
  std::vector<std::uint32_t> forward;
  std::vector<std::uint32_t> backward;
};

/// The home of each node, by its color. A backward node without a color, or whose color has no
/// forward node, joins the nearest node with a home, over edges in either direction. Throws
/// InputError if no edges connect it to such a node.
std::vector<DnnHome> homes_of(const DnnGraph& graph);

}  // namespace penstock
