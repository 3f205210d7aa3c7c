#pragma once

#include "experiments/layout/layout.hpp"
#include "experiments/layout/training_step.hpp"
#include "experiments/model_files/optimizer.hpp"
#include "sim/plan/extras.hpp"

namespace penstock {

/// Whether several devices hold the same weights and reduce their gradients: data replicas, devices
/// of one rank's group, or several ranks that hold the same stage.
bool shares_weights(const Layout& layout);

/// Tasks and buffers of the plan beyond the actions of its order.
Extras extras_of(const Layout& layout);

Training training_of(const Layout& layout);

}  // namespace penstock
