#pragma once

#include <Eigen/Core>

#include "validate/kernels/steps/tensor.hpp"

namespace penstock {

using Matrix = Eigen::Map<Eigen::MatrixXd>;
using ConstMatrix = Eigen::Map<const Eigen::MatrixXd>;

/// A number of rows or columns in Eigen's type.
inline Eigen::Index eigen_index(std::size_t number) { return static_cast<Eigen::Index>(number); }

/// An Eigen view of a tensor; valid while the tensor keeps its size.
inline Matrix matrix(Tensor& tensor) {
  return {tensor.values.data(), eigen_index(tensor.rows), eigen_index(tensor.columns)};
}

inline ConstMatrix matrix(const Tensor& tensor) {
  return {tensor.values.data(), eigen_index(tensor.rows), eigen_index(tensor.columns)};
}

}  // namespace penstock
