#pragma once

#include <optional>

#include "validate/probes/registry.hpp"
#include "validate/store/layer_point.hpp"

namespace penstock {

/// Runs a pass of a layer alone, as on a rank with its own device; inputs are prepared untimed.
/// Nothing for layers that no kernel here runs, or above 1e10 FLOP or 1 GiB.
std::optional<Sampler> layer_sampler(const LayerPoint& layer);

}  // namespace penstock
