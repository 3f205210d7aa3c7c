#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/input/scenario/batch_section.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// What a scenario says of documents, with the tokens of a full microbatch, which the costs of the
/// layout are for. The layout has all but its notes. Throws InputError, with a pointer into the
/// scenario, for what does not go with microbatches that differ.
std::optional<BatchSection> settle_documents(const Scenario& scenario, const Layout& layout);

/// Memory that a run with documents takes for each of its cells beyond one without, in bytes: an
/// estimate, for this many data replicas.
double document_bytes(std::uint32_t replicas);

/// Tokens that a device of experts receives, over the mean, where these are the loads of all
/// experts, side by side on `devices`: those of the busiest device.
double busiest_device(const std::vector<double>& loads, double devices);

}  // namespace penstock
