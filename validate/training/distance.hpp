#pragma once

#include "validate/kernels/registry.hpp"

namespace penstock {

/// What stands behind a model that tells no loss itself: half the squared distance to a drawn
/// target, a mean over the columns of a microbatch. No kind of layer; its numbers are the "rows"
/// that come in and whether "images" do.
extern const KernelEntry distance_kernel;

}  // namespace penstock
