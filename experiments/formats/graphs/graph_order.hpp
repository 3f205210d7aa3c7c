#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/model/model_graph.hpp"

namespace penstock {

/// The number of an edge that is part of a cycle; nothing for a graph without cycles. Every edge
/// must join layers that are there.
std::optional<std::size_t> edge_on_cycle(const ModelGraph& graph);

/// Puts the layers of a graph without cycles in an order in which each comes after its inputs,
/// otherwise as close to theirs as can be, and renumbers the edges. Gives where each layer went.
std::vector<LayerIndex> put_in_order(ModelGraph& graph);

}  // namespace penstock
