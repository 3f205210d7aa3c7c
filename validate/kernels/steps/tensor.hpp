#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

namespace penstock {

/// Values in columns, stored column by column. A column is a token, or an image: channel by
/// channel, row by row.
struct Tensor {
  Tensor() = default;
  Tensor(std::size_t the_rows, std::size_t the_columns)
      : rows(the_rows), columns(the_columns), values(the_rows * the_columns) {}

  bool empty() const { return values.empty(); }

  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values;
};

/// What a layer keeps, or its weights; each kernel defines the order.
using Tensors = std::vector<Tensor>;

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

/// Adds values of the same shape.
void add_values(const Tensor& numbers, Tensor& sum);

}  // namespace penstock
