#pragma once

#include "experiments/layout/batch.hpp"
#include "experiments/layout/layout.hpp"
#include "experiments/scenario/scenario.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "sim/model/model_graph.hpp"

namespace penstock {

/// The cell that a model's layers run for, and the devices that share it: once a layout has its
/// degrees, batch, memory and slices.
CellShape shape_of(const ModelSection& model, const Layout& layout);

/// The layers of a scenario with what they cost the way it recomputes them. Throws InputError with
/// a pointer into the scenario.
ModelGraph model_of(const Scenario& scenario, const Batch& batch, const CellShape& shape);

/// What only a layout with its partition tells of its model: what a stage that is made again as a
/// whole keeps, and whether first and last stage have a weight in common. Throws as above.
void fit_model(Layout& layout);

}  // namespace penstock
