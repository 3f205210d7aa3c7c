#include "validate/kernels/steps/cross_entropy.hpp"

#include <cmath>

#include "validate/kernels/steps/matrix.hpp"

namespace penstock {

double cross_entropy(Tensor& logits, const std::vector<std::size_t>& labels) {
  double loss = 0;
  auto all = matrix(logits);
  for (Eigen::Index c = 0; c < all.cols(); ++c) {
    auto column = all.col(c).array();
    const auto label = static_cast<Eigen::Index>(labels[static_cast<std::size_t>(c)]);
    column -= column.maxCoeff();
    const double right = column(label);
    column = column.exp();
    const double sum = column.sum();
    column /= sum;
    loss += std::log(sum) - right;
  }
  return loss;
}

void cross_entropy_gradient(Tensor& probabilities, const std::vector<std::size_t>& labels,
                            double share) {
  auto all = matrix(probabilities);
  for (Eigen::Index c = 0; c < all.cols(); ++c) {
    all(static_cast<Eigen::Index>(labels[static_cast<std::size_t>(c)]), c) -= 1;
  }
  all *= share;
}

}  // namespace penstock
