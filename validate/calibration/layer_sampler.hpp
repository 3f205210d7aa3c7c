#pragma once

#include <optional>

#include "validate/probes/registry.hpp"
#include "validate/store/layer_point.hpp"

namespace penstock {

/// Runs a pass of a layer by itself, as a rank would on a device of its own; what the pass needs is
/// made beforehand and not timed. Nothing for layers that no kernel here runs, and for those of
/// more than 1e10 FLOP or 1 GiB.
std::optional<Sampler> layer_sampler(const LayerPoint& layer);

}  // namespace penstock
