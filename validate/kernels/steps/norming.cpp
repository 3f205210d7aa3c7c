#include "validate/kernels/steps/norming.hpp"

#include "validate/kernels/steps/matrix.hpp"

namespace penstock {

Tensor norm_columns(Tensor& columns, bool centred) {
  Tensor scales(1, columns.columns);
  auto all = matrix(columns);
  for (Eigen::Index c = 0; c < all.cols(); ++c) {
    auto column = all.col(c).array();
    if (centred) column -= column.mean();
    const double scale = 1 / std::sqrt(column.square().mean() + norm_epsilon);
    column *= scale;
    scales.values[static_cast<std::size_t>(c)] = scale;
  }
  return scales;
}

void norm_gradient(const Tensor& normed, const Tensor& scales, bool centred, Tensor& gradient) {
  const auto all = matrix(normed);
  auto gradients = matrix(gradient);
  for (Eigen::Index c = 0; c < all.cols(); ++c) {
    const auto column = all.col(c).array();
    auto own = gradients.col(c).array();
    const double along = (own * column).mean();
    const double mean = centred ? own.mean() : 0;
    own = scales.values[static_cast<std::size_t>(c)] * (own - mean - along * column);
  }
}

}  // namespace penstock
