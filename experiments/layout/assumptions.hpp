#pragma once

#include <string>
#include <vector>

#include "experiments/layout/layout.hpp"
#include "experiments/scenario/scenario.hpp"

namespace penstock {

/// What a layout assumes where its scenario leaves a choice that moves the result: the number of
/// data replicas, and whether gradients are reduced while ranks still compute.
std::vector<std::string> assumptions_of(const Scenario& scenario, const Layout& layout);

}  // namespace penstock
