#pragma once

#include <initializer_list>
#include <span>

#include "validate/kernels/steps/tensor.hpp"

namespace penstock {

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
