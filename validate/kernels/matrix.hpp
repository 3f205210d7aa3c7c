#pragma once

#include <Eigen/Core>

#include "validate/kernels/tensor.hpp"

namespace penstock {

using Matrix = Eigen::Map<Eigen::MatrixXd>;
using ConstMatrix = Eigen::Map<const Eigen::MatrixXd>;

/// A tensor as Eigen sees it; valid while the tensor keeps its size.
inline Matrix matrix(Tensor& tensor) {
  return {tensor.values.data(), static_cast<Eigen::Index>(tensor.rows),
          static_cast<Eigen::Index>(tensor.columns)};
}

inline ConstMatrix matrix(const Tensor& tensor) {
  return {tensor.values.data(), static_cast<Eigen::Index>(tensor.rows),
          static_cast<Eigen::Index>(tensor.columns)};
}

}  // namespace penstock
