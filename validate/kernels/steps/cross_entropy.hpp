#pragma once

#include <cstddef>
#include <vector>

#include "validate/kernels/steps/tensor.hpp"

namespace penstock {

/// Turns logits into probabilities, in place. Returns the sum of minus the logarithm of the
/// probability of each column's label.
double cross_entropy(Tensor& logits, const std::vector<std::size_t>& labels);

/// Turns probabilities into the gradient of the logits, with weight `share` per column.
void cross_entropy_gradient(Tensor& probabilities, const std::vector<std::size_t>& labels,
                            double share);

}  // namespace penstock
