#pragma once

#include "hardware_models/layers/building/layer_work.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

/// Adds the collectives of a tensor group before products split by columns. With sequence
/// parallelism the input is all-gathered, and again for W, since it is not kept; without it each
/// device has the input and gradients are all-reduced.
void enter_tensor_group(LayerWork& work, const CellShape& shape, double numbers);

/// Adds the collectives after products split by rows, when each device has a partial sum.
/// `backward` is the pass in which the gradients arrive.
void leave_tensor_group(LayerWork& work, const CellShape& shape, double numbers,
                        Pass backward = Pass::backward_input);

}  // namespace penstock
