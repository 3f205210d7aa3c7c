#pragma once

#include <cstdint>

#include "validate/backends/cuda/arithmetic/pack.hpp"

namespace penstock {

/// out = a + b, an element per number.
template <class Number>
struct Added {
  static constexpr unsigned lanes = 0;

  std::uint64_t count;
  const Number* a;
  const Number* b;
  Number* out;

  PENSTOCK_BOTH bool in_packs() const { return count % pack_size == 0; }
  template <unsigned size = 1>
  PENSTOCK_BOTH void at(std::uint64_t i) const {
    Pack<Number, size> sum(a + i);
    sum.add(1, Pack<Number, size>(b + i));
    sum.write(out + i);
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
