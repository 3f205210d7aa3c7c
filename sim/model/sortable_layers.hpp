#pragma once

#include <vector>

#include "sim/model/model_graph.hpp"

namespace penstock {

/// The layers as `topological_order` has them, without those that no order can hold: the ones on a
/// cycle of edges, and behind one.
std::vector<LayerIndex> sortable_layers(const ModelGraph& model);

}  // namespace penstock
