#pragma once

#include <optional>

#include "experiments/input/scenario/batch_section.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// What a scenario says of documents, with the tokens of a full microbatch, which the costs of the
/// layout are for. The layout has all but its notes. Throws InputError, with a pointer into the
/// scenario, for what does not go with microbatches that differ.
std::optional<BatchSection> settle_documents(const Scenario& scenario, const Layout& layout);

/// Tokens that a device of experts receives, over the mean, where these are the loads of all
/// experts, side by side on `devices`: those of the busiest device.
double busiest_device(const std::vector<double>& loads, double devices);

}  // namespace penstock
