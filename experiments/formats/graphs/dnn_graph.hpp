#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/formats/graphs/json_graph.hpp"

namespace penstock {

/// A node of a dnn-partitioning graph.
struct DnnNode {
  std::string name;
  std::string where;
  double time_us = 0;
  double bytes = 0;
  bool backward = false;
  bool on_host = false;                // accelerators cannot run it; its time is that of a CPU
  std::optional<std::uint32_t> color;  // nodes of one color share a device
};

/// An edge by the positions of its ends.
struct DnnEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  double bytes = 0;
  bool by_cost = false;  // what it costs was given instead of bytes
  std::string where;
};

struct DnnGraph {
  NodeIds ids;
  std::vector<DnnNode> nodes;
  std::vector<DnnEdge> edges;
};

/// Reads nodes and edges. Throws InputError with a JSON pointer.
DnnGraph read_dnn_graph(const JsonView& document);

/// Forward nodes that stay together, and the backward nodes that are theirs.
struct DnnHome {
  std::vector<std::uint32_t> forward;
  std::vector<std::uint32_t> backward;
};

/// A home for each node: that of its color. A backward node whose color has no forward node (or
/// that has none) goes where the nearest node that has a home is, over edges either way. Throws
/// InputError for one that no edges join to such a node.
std::vector<DnnHome> homes_of(const DnnGraph& graph);

}  // namespace penstock
