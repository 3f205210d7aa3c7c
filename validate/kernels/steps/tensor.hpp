#pragma once

#include <cstddef>
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

}  // namespace penstock
