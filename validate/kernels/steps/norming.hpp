#pragma once

#include "validate/kernels/steps/tensor.hpp"

namespace penstock {

/// Added to a variance to avoid division by zero.
constexpr double norm_epsilon = 1e-5;

/// Scales each column to a mean square of 1, after centring it if `centred`. Returns the factors.
Tensor norm_columns(Tensor& columns, bool centred);

/// Turns the gradient of `normed` into that of the input, in place.
void norm_gradient(const Tensor& normed, const Tensor& scales, bool centred, Tensor& gradient);

}  // namespace penstock
