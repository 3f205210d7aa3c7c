#pragma once

#include "experiments/scenario/scenario.hpp"
#include "sim/model/partition.hpp"
#include "sim/order/placement.hpp"

namespace penstock {

/// Cuts a model for a placement: as stated in the scenario, else by its partitioner. Throws
/// InputError with a pointer into the scenario.
Partition cut_model(const Scenario& scenario, const ModelGraph& model, const Placement& placement);

}  // namespace penstock
