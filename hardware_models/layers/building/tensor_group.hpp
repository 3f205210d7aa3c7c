#pragma once

#include "hardware_models/layers/building/layer_work.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

/// Adds what the devices of a tensor group pass where tokens of so many numbers go into products
/// that are cut by columns. With sequence parallelism they are gathered, and again for W, since
/// what was gathered is not kept; without it each device has them, and sums their gradients.
void enter_tensor_group(LayerWork& work, const CellShape& shape, double numbers);

/// The same where tokens come out of products that are cut by rows, each device with a part of the
/// sum. `backward` is the pass that the gradients come in.
void leave_tensor_group(LayerWork& work, const CellShape& shape, double numbers,
                        Pass backward = Pass::backward_input);

}  // namespace penstock
