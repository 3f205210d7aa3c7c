#include "validate/backends/cuda/layers/matrix_product.hpp"

#include <vector>

namespace penstock {
namespace {

/// The values of A by column, read once for all columns of C.
template <class Number>
std::vector<SumOf<Number>> values_by_column(const LayerProduct<Number>& product, const Number* a) {
  const std::uint64_t rows = product.rows;
  std::vector<SumOf<Number>> values(rows * product.inner);
  for (std::uint64_t k = 0; k < product.inner; ++k) {
    for (std::uint64_t row = 0; row < rows; ++row) {
      values[row + k * rows] =
          value_of(product.form.a_transposed ? a[k + row * product.inner] : a[row + k * rows]);
    }
  }
  return values;
}

/// One column of a product, on the host.
template <class Number>
void multiply_column(const LayerProduct<Number>& product, const SumOf<Number>* a, const Number* b,
                     std::uint64_t column, std::vector<SumOf<Number>>& sums) {
  const std::uint64_t rows = product.rows;
  SumOf<Number>* const all = sums.data();
  for (auto& sum : sums) sum = 0;
  for (std::uint64_t k = 0; k < product.inner; ++k) {
    const SumOf<Number> factor =
        value_of(product.form.b_transposed ? b[column + k * product.columns]
                                           : b[k + column * product.inner]);
    const SumOf<Number>* const own = a + k * rows;
    for (std::uint64_t row = 0; row < rows; ++row) all[row] += own[row] * factor;
  }
}

}  // namespace

template <class Number>
void multiply(const LayerProduct<Number>& product) {
  using Sum = SumOf<Number>;
  const ProductForm& form = product.form;
  std::vector<Sum> sums(product.rows);
  for (std::uint64_t turn = 0; turn < form.batch; ++turn) {
    const std::vector<Sum> a = values_by_column(product, product.a + turn * form.a_step);
    for (std::uint64_t column = 0; column < product.columns; ++column) {
      multiply_column(product, a.data(), product.b + turn * form.b_step, column, sums);
      const std::uint64_t first = turn * form.c_step + column * product.rows;
      for (std::uint64_t row = 0; row < product.rows; ++row) {
        if (form.result == ProductResult::rounded) {
          static_cast<Number*>(product.c)[first + row] = rounded<Number>(sums[row]);
        } else {
          Sum& sum = static_cast<Sum*>(product.c)[first + row];
          sum = form.result == ProductResult::added ? sum + sums[row] : sums[row];
        }
      }
    }
  }
}

template void multiply(const LayerProduct<Bf16>& product);
template void multiply(const LayerProduct<double>& product);

}  // namespace penstock
