#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/model/model_graph.hpp"

namespace penstock {

/// The number of an edge on a cycle; nothing for an acyclic graph. Every edge must join existing
/// layers.
std::optional<std::size_t> edge_on_cycle(const ModelGraph& graph);

/// Sorts the layers of an acyclic graph topologically, as close to their original order as
/// possible, and renumbers the edges. Returns the new index of each layer.
std::vector<LayerIndex> put_in_order(ModelGraph& graph);

}  // namespace penstock
