#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "validate/kernels/steps/layer_run.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock {

/// Added to a variance to avoid division by zero.
constexpr double norm_epsilon = 1e-5;

/// Scales each column to a mean square of 1, after centring it if `centred`. Returns the factors.
Tensor norm_columns(Tensor& columns, bool centred);

/// Turns the gradient of `normed` into that of the input, in place.
void norm_gradient(const Tensor& normed, const Tensor& scales, bool centred, Tensor& gradient);

/// x times its sigmoid, and the derivative.
double swish(double x);
double swish_slope(double x);

/// The hidden activation of a feed-forward network from the outputs of its first dense layer: GELU,
/// or SwiGLU when gated, whose first half of the outputs is the gate.
Tensor activated(bool gated, const Tensor& outputs);

/// The gradient of these outputs, from that of the activation.
Tensor activation_gradient(bool gated, const Tensor& outputs, const Eigen::MatrixXd& gradient);

/// Turns logits into probabilities, in place. Returns the sum of minus the logarithm of the
/// probability of each column's label.
double cross_entropy(Tensor& logits, const std::vector<std::size_t>& labels);

/// Turns probabilities into the gradient of the logits, with weight `share` per column.
void cross_entropy_gradient(Tensor& probabilities, const std::vector<std::size_t>& labels,
                            double share);

}  // namespace penstock
