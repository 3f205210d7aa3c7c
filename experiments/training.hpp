#pragma once

#include "experiments/layout.hpp"
#include "experiments/optimizer.hpp"
#include "experiments/scenario.hpp"
#include "sim/extras.hpp"
#include "sim/training.hpp"

namespace penstock {

/// Whether there are devices besides the ranks themselves that hold the same weights: data
/// replicas, or others of the group that acts as one rank.
bool shares_weights(const Scenario& scenario, const Layout& layout);

/// What a scenario keeps for each parameter.
BytesPerParameter kept_of(const Scenario& scenario);

/// Whether copies of a stage on several ranks have gradients that nothing sums: only data replicas,
/// and the devices of a group, do.
bool leaves_sums_out(const Scenario& scenario, const Layout& layout);

/// What the plan of a scenario has beyond the actions of its order.
Extras extras_of(const Scenario& scenario, const Layout& layout);

/// The numbers that go with it.
Training training_of(const Scenario& scenario, const Layout& layout);

}  // namespace penstock
