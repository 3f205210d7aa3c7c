#pragma once

#include "validate/kernels/tensor.hpp"

namespace penstock {

/// The product of two matrices, into one of the right shape: what layers spend their time with, by
/// itself.
void multiply(const Tensor& left, const Tensor& right, Tensor& product);

}  // namespace penstock
