#pragma once

#include <Eigen/Core>

#include "validate/kernels/steps/tensor.hpp"

namespace penstock {

/// The hidden activation of a feed-forward network from the outputs of its first dense layer: GELU,
/// or SwiGLU when gated, whose first half of the outputs is the gate.
Tensor activated(bool gated, const Tensor& outputs);

/// The gradient of these outputs, from that of the activation.
Tensor activation_gradient(bool gated, const Tensor& outputs, const Eigen::MatrixXd& gradient);

}  // namespace penstock
