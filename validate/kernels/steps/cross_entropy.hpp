#pragma once

#include <cstddef>
#include <vector>

#include "validate/kernels/steps/tensor.hpp"

namespace penstock {

/// Makes probabilities of the logits, in place. Returns the sum of what the right ones miss: minus
/// the logarithm of the probability of each column's label.
double cross_entropy(Tensor& logits, const std::vector<std::size_t>& labels);

/// The gradient of the logits in place of their probabilities, each column counting `share`.
void cross_entropy_gradient(Tensor& probabilities, const std::vector<std::size_t>& labels,
                            double share);

}  // namespace penstock
