#pragma once

#include <cstdint>

#include "validate/backends/cuda/arithmetic/number.hpp"

namespace penstock {

/// What becomes of the sums of a matrix product.
enum class ProductResult : std::uint8_t {
  rounded,  // to the numbers of the factors
  sums,     // written as they are
  added,    // added to the sums that are there
};

/// C = A B, of matrices stored by column. A is rows * inner, or is stored transposed; and so on.
struct ProductForm {
  bool a_transposed = false;
  bool b_transposed = false;
  ProductResult result = ProductResult::rounded;
  std::uint32_t batch = 1;  // products of a kind, with steps from one to the next, in numbers
  std::uint64_t a_step = 0;
  std::uint64_t b_step = 0;
  std::uint64_t c_step = 0;
};

/// A product; C holds numbers or sums, by its result.
template <class Number>
struct LayerProduct {
  std::uint32_t rows;
  std::uint32_t columns;
  std::uint32_t inner;
  ProductForm form;
  const Number* a;
  const Number* b;
  void* c;
};

/// Runs a product on the host, of Bf16 or double.
template <class Number>
void multiply(const LayerProduct<Number>& product);

}  // namespace penstock
