#pragma once

#include <cstddef>
#include <vector>

namespace penstock {

/// Numbers in columns, one column behind the other. A column is a token, or an image: its channels
/// one after the other, each line by line.
struct Tensor {
  Tensor() = default;
  Tensor(std::size_t the_rows, std::size_t the_columns)
      : rows(the_rows), columns(the_columns), values(the_rows * the_columns) {}

  bool empty() const { return values.empty(); }

  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values;
};

/// What a layer keeps, or the weights that it has: each kernel says what stands where.
using Tensors = std::vector<Tensor>;

}  // namespace penstock
