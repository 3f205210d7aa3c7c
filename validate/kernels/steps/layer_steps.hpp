#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "validate/kernels/steps/layer_run.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock {

/// A dense layer: weights times columns, and a bias if there is one.
Tensor dense(const Tensor& weights, const Tensor& columns, const Tensor* bias = nullptr);
/// Transposed weights times columns: the gradient of its input from that of its output.
Tensor dense_back(const Tensor& weights, const Tensor& columns);
/// Adds the gradients of its weights, and of its bias if there is one.
void add_dense_sums(const Tensor& gradient, const Tensor& columns, Tensor& weight_sums,
                    Tensor* bias_sums = nullptr);

/// The indices of the highest scores, highest first; of equal ones the lower comes first.
std::vector<Eigen::Index> highest(const Eigen::Ref<const Eigen::VectorXd>& scores,
                                  std::size_t most);

/// Added to a variance to avoid division by zero.
constexpr double norm_epsilon = 1e-5;

/// Scales each column to a mean square of 1, after centring it if `centred`. Returns the factors.
Tensor norm_columns(Tensor& columns, bool centred);

/// Turns the gradient of `normed` into that of the input, in place.
void norm_gradient(const Tensor& normed, const Tensor& scales, bool centred, Tensor& gradient);

double sigmoid(double x);
/// log(1 + e^x).
double softplus(double x);

/// x times its sigmoid, and the derivative.
double swish(double x);
double swish_slope(double x);

/// The hidden activation of a feed-forward network from the outputs of its first dense layer: GELU,
/// or SwiGLU when gated, whose first half of the outputs is the gate.
Tensor activated(bool gated, const Tensor& outputs);

/// The gradient of these outputs, from that of the activation.
Tensor activation_gradient(bool gated, const Tensor& outputs, const Tensor& gradient);

/// Turns logits into probabilities, in place. Returns the sum of minus the logarithm of the
/// probability of each column's label.
double cross_entropy(Tensor& logits, const std::vector<std::size_t>& labels);

/// Turns probabilities into the gradient of the logits, with weight `share` per column.
void cross_entropy_gradient(Tensor& probabilities, const std::vector<std::size_t>& labels,
                            double share);

}  // namespace penstock
