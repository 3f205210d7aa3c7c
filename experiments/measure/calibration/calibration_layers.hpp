#pragma once

#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "sim/model/model_graph.hpp"
#include "validate/store/layer_point.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {

/// The passes of a scenario's layers as they run in a cell, each once. Hardware "measured" needs
/// rows of them to price the scenario. Throws UsageError for layers with given times, layers shared
/// by several devices, and layers that no kernel here runs.
std::vector<KernelPoint> layer_points(const Scenario& scenario);

/// The parts of a layer as points to measure, without their pass; empty for a layer without parts.
std::vector<LayerPoint> points_of_layer(const Layer& layer);

}  // namespace penstock
