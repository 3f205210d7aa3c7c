#pragma once

#include "experiments/input/model_files/model_file.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/layout/stage_demand.hpp"
#include "sim/plan/extras.hpp"

namespace penstock {

/// Whether any layer has parameters.
bool has_weights(const ModelGraph& model);

/// Whether weights have replicas, which reduce their gradients: data replicas, devices of one
/// rank's group, or several ranks with one stage.
bool shares_weights(const Layout& layout);

/// Tasks and buffers of the plan beyond the actions of its order.
Extras extras_of(const Layout& layout);

/// Whether new weights are gathered behind the first forwards of the next step: as stated, else as
/// the stack of the device does.
bool overlaps_gathers(const Layout& layout);

Training training_of(const Layout& layout);

}  // namespace penstock
