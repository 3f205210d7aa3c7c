#pragma once

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// Refuses keys that a scenario states and its layout would ignore. Throws InputError without a
/// file's name.
void refuse_idle_keys(const Scenario& scenario, const Layout& layout);

}  // namespace penstock
