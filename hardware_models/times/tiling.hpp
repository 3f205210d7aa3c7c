#pragma once

#include "hardware_models/spec/machine.hpp"
#include "sim/model/work.hpp"

namespace penstock {

/// FLOPs that a device spends on a product: those of whole tiles in whole waves over its cores, the
/// start of each tile included, with the tiles and the split of the inner size that need the
/// fewest. Never below the FLOPs of the product.
double flops_in_waves(const Device& device, const Kernel& product);

}  // namespace penstock
