#pragma once

#include <Eigen/Core>
#include <span>

#include "validate/kernels/steps/layer_run.hpp"

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

/// Tensors of equal columns, one below the other.
Tensor stacked(std::span<const Tensor* const> parts);
inline Tensor stacked(const Tensor& upper, const Tensor& lower) {
  const Tensor* const parts[] = {&upper, &lower};
  return stacked(parts);
}

/// Some rows of a tensor.
Tensor rows_of(const Tensor& all, std::size_t first, std::size_t count);

/// The same values in columns of so many rows.
inline Tensor columns_of_size(Tensor all, std::size_t rows) {
  all.columns = all.values.size() / rows;
  all.rows = rows;
  return all;
}

/// The values of a column.
inline const double* column_of(const Tensor& all, std::size_t column) {
  return &all.values[column * all.rows];
}
inline double* column_of(Tensor& all, std::size_t column) { return &all.values[column * all.rows]; }

/// The mean of each channel of each image.
Tensor channel_means(const Tensor& images, std::size_t channels);

/// Adds values of the same shape.
void add_values(const Tensor& numbers, Tensor& sum);

}  // namespace penstock
