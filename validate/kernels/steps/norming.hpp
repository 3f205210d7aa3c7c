#pragma once

#include "validate/kernels/steps/tensor.hpp"

namespace penstock {

/// What was added to a variance, so that nothing is divided by zero.
constexpr double norm_epsilon = 1e-5;

/// Brings each column to a mean square of 1, centred ones to a mean of 0 first. Returns what each
/// column was multiplied with.
Tensor norm_columns(Tensor& columns, bool centred);

/// The gradient of what came in, in place of that of what was brought to `normed`.
void norm_gradient(const Tensor& normed, const Tensor& scales, bool centred, Tensor& gradient);

}  // namespace penstock
