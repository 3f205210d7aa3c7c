#pragma once

#include "experiments/layout/layout.hpp"
#include "experiments/layout/training_step.hpp"
#include "experiments/model_files/optimizer.hpp"
#include "sim/plan/extras.hpp"

namespace penstock {

/// Whether several devices hold the same weights and sum their gradients: data replicas, others of
/// the group that acts as one rank, or the ranks of a stage that is there several times.
bool shares_weights(const Layout& layout);

/// What the plan of a layout has beyond the actions of its order.
Extras extras_of(const Layout& layout);

/// The numbers that go with it.
Training training_of(const Layout& layout);

}  // namespace penstock
