#pragma once

#include <cstdint>

#include "experiments/layout/layout.hpp"
#include "experiments/scenario/scenario.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "sim/model/model_graph.hpp"

namespace penstock {

/// The cell that a scenario's layers run for, and the devices that share it.
CellShape shape_of(const Scenario& scenario, std::uint32_t slices);

/// The layers of a scenario with what they cost the way it recomputes them. Throws InputError with
/// a pointer into the scenario.
ModelGraph model_of(const Scenario& scenario, std::uint32_t slices);

/// What only a layout with its partition tells of its model: what a stage that is made again as a
/// whole keeps, and whether first and last stage have a weight in common.
void fit_model(const Scenario& scenario, Layout& layout);

}  // namespace penstock
