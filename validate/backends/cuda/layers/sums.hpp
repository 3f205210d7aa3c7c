#pragma once

#include <cstdint>

#include "validate/backends/cuda/arithmetic/number.hpp"

namespace penstock {

/// out = a + b, an element per number.
template <class Number>
struct Added {
  static constexpr unsigned lanes = 0;

  std::uint64_t count;
  const Number* a;
  const Number* b;
  Number* out;

  PENSTOCK_BOTH void at(std::uint64_t i) const {
    out[i] = rounded<Number>(value_of(a[i]) + value_of(b[i]));
  }
};

/// Adds parts, which lie one after the other, to sums: an element per sum.
template <class Number>
struct AddedParts {
  static constexpr unsigned lanes = 0;
  using Sum = SumOf<Number>;

  std::uint64_t count;
  std::uint32_t part_count;
  const Sum* parts;
  Sum* sums;

  PENSTOCK_BOTH void at(std::uint64_t i) const {
    Sum sum = sums[i];
    for (std::uint64_t part = 0; part < part_count; ++part) sum += parts[part * count + i];
    sums[i] = sum;
  }
};

}  // namespace penstock
