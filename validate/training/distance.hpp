#pragma once

#include "validate/kernels/registry.hpp"

namespace penstock {

/// The loss of a model without one: half the squared distance to a drawn target, averaged over the
/// columns of a microbatch. Not a kind of layer; its parameters are the input "rows" and whether
/// "images" come in.
extern const KernelEntry distance_kernel;

}  // namespace penstock
